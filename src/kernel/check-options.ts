/** Checks options when an object is made: a request should not be the first to meet an unknown name or a wrong type. */

import { nearest } from "./nearest.ts";

/**
 * The type of each option, as `typeof` names it, for example `"number or function"`. `"any"`: another function checks
 * the value.
 */
type OptionTypes = Readonly<Record<string, string>>;

/** Fewer letters are a part of too many names. */
const SHORTEST_PART = 3;

/**
 * Throws for an unknown option and for one of a wrong type. An option that is `undefined` counts as absent. Messages do
 * not contain values: a value may be a secret.
 *
 * @param where the first words of messages, for example `rateLimit`.
 * @throws {TypeError}
 */
export function checkOptions(where: string, options: unknown, types: OptionTypes): void {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw new TypeError(`${where}: expected an object of options, found ${describeType(options)}`);
  }
  for (const name of Object.keys(options)) {
    if (!Object.hasOwn(types, name)) throw new TypeError(`${where}: unknown option ${name}: ${instead(name, types)}`);
    const value = (options as Record<string, unknown>)[name];
    const type = types[name]!;
    const found = value === null ? "null" : typeof value;
    if (value === undefined || type === "any" || type === found || type.split(" or ").includes(found)) continue;
    throw new TypeError(`${where}: ${name}: expected ${type}, found ${found}`);
  }
}

/** What a value is, without the value: it may be a secret. */
export function describeType(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  return Array.isArray(value) ? "a list" : `a value of type ${typeof value}`;
}

/** The option that was meant: the nearest name, or else one that contains the wrong name or is a part of it. */
function instead(name: string, types: OptionTypes): string {
  const names = Object.keys(types);
  const typed = name.toLowerCase();
  const isPart = (other: string) => typed.includes(other.toLowerCase()) || other.toLowerCase().includes(typed);
  const meant = nearest(name, names) ?? (typed.length >= SHORTEST_PART ? names.find(isPart) : undefined);
  return meant === undefined ? `expected one of ${names.join(", ")}` : `did you mean ${meant}?`;
}
