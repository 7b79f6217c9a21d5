/** Who is counted. */

import { formOf, KEY_DESCRIPTIONS, KEY_SOURCES, type KeySource, sourceOf } from "../../request/sources.ts";
import type { FeatureFields, Field } from "./field.ts";

const ALL = Object.keys(KEY_SOURCES) as KeySource[];
const isAdded = (source: KeySource) => formOf(source).isAdded === true;

/** Sources as they are written. @param write writes what follows the source and a colon. Absent: as messages do. */
function formsOf(sources: readonly KeySource[], write = (_: string) => "<name>"): string[] {
  return sources.map((source) => {
    const { name } = formOf(source);
    return name ? `${source}:${write(name)}` : source;
  });
}

function patternOf(sources: readonly KeySource[]): string {
  return `(?:${formsOf(sources, (name) => name).join("|")})`;
}

/** A field that is one key source, of all but some, and but those that features read. */
export function sourceBut(...others: readonly string[]) {
  const sources = ALL.filter((source) => !isAdded(source) && !others.includes(source));
  return {
    is: "text",
    form: new RegExp(`^${patternOf(sources)}$`),
    forms: formsOf(sources),
    isOptional: true,
  } as const satisfies Field;
}

function functionInstead(value: unknown): string | undefined {
  return typeof value === "function"
    ? 'a source such as "ip" or "header:x-user"; a function that names the client is the option key of withRateLimit and rateLimit, for example rateLimit(limiter, { key: (request) => … })'
    : undefined;
}

/** @param added the sources that features read. */
export function keyBy(added: readonly KeySource[]) {
  const sources = ALL.filter((source) => !isAdded(source) || added.includes(source));
  return {
    fields: {
      key: {
        is: "oneOrMore",
        of: {
          is: "text",
          form: new RegExp(`^${patternOf(sources)}(?:\\+${patternOf(sources)})*$`),
          forms: formsOf(sources),
          meant: functionInstead,
        },
        default: ["ip"],
        expected: `a list of ${formsOf(sources).join(", ")}, or several joined by +`,
      },
    },
  } as const satisfies FeatureFields;
}

/** Those that may count a client: up to the first that every request has, otherwise with the address at the end. */
export function kindsRead(key: readonly string[]): readonly string[] {
  const isAlwaysPresent = (part: string) => KEY_DESCRIPTIONS[sourceOf(part)].isAlwaysPresent;
  const last = key.findIndex((kind) => kind.split("+").every(isAlwaysPresent));
  return last < 0 ? [...key, "ip"] : key.slice(0, last + 1);
}

/** For people: `bearer token, otherwise address`. */
export function describeKey(key: readonly string[]): string {
  const describeKind = (kind: string) => kind.split("+").map(describePart).join(" and ");
  return kindsRead(key).map(describeKind).join(", otherwise ");
}

export function describePart(part: string): string {
  const source = sourceOf(part);
  return `${KEY_DESCRIPTIONS[source].words} ${part.slice(source.length + 1)}`.trimEnd();
}
