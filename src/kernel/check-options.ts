/** Checks options when an object is made: a request should not be the first to meet an unknown name or a wrong type. */

import { meantBy } from "./nearest.ts";

/**
 * The type of each option, as `typeof` names it, for example `"number or function"`. `"any"`: another function checks
 * the value.
 */
type OptionTypes = Readonly<Record<string, string>>;

/**
 * Throws for an unknown option and for one of a wrong type. An option that is `undefined` counts as absent. Messages do
 * not contain values: a value may be a secret.
 *
 * @param where the first words of messages, for example `rateLimit`.
 * @param elsewhere what to write instead of a name that belongs elsewhere. Undefined: it does not.
 * @throws {TypeError}
 */
export function checkOptions(
  where: string,
  options: unknown,
  types: OptionTypes,
  elsewhere: (name: string) => string | undefined = () => undefined,
): void {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw new TypeError(`${where}: expected an object of options, found ${describeType(options)}`);
  }
  for (const name of Object.keys(options)) {
    if (!Object.hasOwn(types, name)) {
      throw new TypeError(`${where}: unknown option ${name}: ${elsewhere(name) ?? instead(name, types)}`);
    }
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

function instead(name: string, types: OptionTypes): string {
  const names = Object.keys(types);
  const meant = meantBy(name, names);
  return meant === undefined ? `expected one of ${names.join(", ")}` : `did you mean ${meant}?`;
}
