/** Who is counted. */

import type { Policy } from "../../core/policy.ts";
import { formOf, KEY_DESCRIPTIONS, KEY_SOURCES, type KeySource, sourceOf } from "../../keys/sources.ts";
import { isClaim } from "../identity.ts";
import type { Field, Fields } from "./field.ts";

const ALL = Object.keys(KEY_SOURCES) as KeySource[];

/** Sources as they are written. @param write writes what follows the source and a colon. */
function forms(sources: readonly KeySource[], write: (name: string) => string): string[] {
  return sources.map((source) => {
    const { name } = formOf(source);
    return name ? `${source}:${write(name)}` : source;
  });
}

function formsIn(sources: readonly KeySource[]): string {
  return forms(sources, (name) => name).join("|");
}

function formsInWords(sources: readonly KeySource[]): string {
  return forms(sources, () => "<name>").join(", ");
}

/** A field that is one key source, of all but some. */
export function sourceBut(...others: readonly KeySource[]): Field {
  const sources = ALL.filter((source) => !others.includes(source));
  return {
    is: "text",
    form: new RegExp(`^(?:${formsIn(sources)})$`),
    expected: `one of ${formsInWords(sources)}`,
    isOptional: true,
  };
}

const PART = `(?:${formsIn(ALL)})`;

export const key = {
  fields: {
    key: {
      is: "oneOrMore",
      of: { is: "text", form: new RegExp(`^${PART}(?:\\+${PART})*$`) },
      default: ["ip"],
      expected: `a list of ${formsInWords(ALL)}, or several joined by +`,
    },
  } satisfies Fields,
};

/** Whether another policy counts the same requests by address. */
export type IsGuarded = (policy: Policy) => boolean;

/**
 * A client can change the keys that it chooses itself: a policy on such keys limits only clients that keep them,
 * unless a policy that counts by address matches the same requests.
 */
export function keyWarnings(policy: Policy, isGuarded: IsGuarded): string[] {
  const { name, key } = policy;
  if (countsByAddress(key) || !key.some(isChosen) || isGuarded(policy)) return [];
  return [
    `policy ${name} counts by ${key.find(isChosen)}, which a client can change at will: add a policy with key "ip" for the same requests`,
  ];
}

/** Of a list the first kind that a request has counts: a client leaves its count by a made-up value of that kind. */
export function listWarnings({ name, key }: Policy): string[] {
  const last = key.findIndex((kind) =>
    kind.split("+").every((part) => KEY_DESCRIPTIONS[sourceOf(part)].isAlwaysPresent),
  );
  const [one, other] = key.slice(0, last < 0 ? key.length : last).filter(isChosen);
  if (one === undefined || other === undefined) return [];
  return [
    `policy ${name} has ${one} and ${other} in one key, and a client can send a made-up ${one} beside its real ${other}: write two policies, one for each`,
  ];
}

export function isChosen(kind: string): boolean {
  return kind.split("+").some((part) => KEY_DESCRIPTIONS[sourceOf(part)].chosenBy === "client");
}

/**
 * A client's request always has an address: kinds after `ip` in a list are not used. Who shows a verified claim is
 * counted by the claim, which a client cannot change either.
 */
export function countsByAddress(key: readonly string[]): boolean {
  return (key.find((kind) => !kind.split("+").every(isClaim)) ?? "ip") === "ip";
}

/** For people: `bearer token, otherwise address`. Every list of keys ends with the address (http/key.ts). */
export function describeKey(key: readonly string[]): string {
  const last = key.at(-1)!;
  const kinds = KEY_DESCRIPTIONS[last as KeySource]?.isAlwaysPresent ? key : [...key, "ip"];
  const describeKind = (kind: string) => kind.split("+").map(describePart).join(" and ");
  return kinds.map(describeKind).join(", otherwise ");
}

export function describePart(part: string): string {
  const source = sourceOf(part);
  return `${KEY_DESCRIPTIONS[source].words} ${part.slice(source.length + 1)}`.trimEnd();
}
