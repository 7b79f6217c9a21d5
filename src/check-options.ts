/** Options as callers write them: an unknown name or a wrong type is found when something is made, not by a request. */

/**
 * Types by the name of an option: what `typeof` says of it, for example `"number or function"`; `"any"`: the value is checked
 * elsewhere.
 */
export type OptionTypes = Readonly<Record<string, string>>;

/** Of the pairs of letters of the shorter name; a letter that is missing, doubled or swapped in four leaves as much. */
const ALIKE = 0.4;

/**
 * An option that is `undefined` counts as absent. Values are not repeated: one may be a secret.
 *
 * @param where what messages begin with, for example `rateLimit`. @throws {TypeError}
 */
export function checkOptions(where: string, options: unknown, types: OptionTypes): void {
  if (typeof options !== "object" || options === null) throw new TypeError(`${where}: expected an object of options`);
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(types, name)) throw new TypeError(`${where}: unknown option ${name}: ${instead(name, types)}`);
    if (value === undefined) continue;
    const found = value === null ? "null" : typeof value;
    if (types[name] === "any" || types[name]!.split(" or ").includes(found)) continue;
    throw new TypeError(`${where}: ${name}: expected ${types[name]}, found ${found}`);
  }
}

function instead(name: string, types: OptionTypes): string {
  const names = Object.keys(types);
  const pairs = pairsOf(name);
  const likeness = (other: string) => {
    const others = pairsOf(other);
    return others.filter((pair) => pairs.includes(pair)).length / Math.min(pairs.length, others.length);
  };
  const nearest = names.reduce((a, b) => (likeness(b) > likeness(a) ? b : a));
  return likeness(nearest) >= ALIKE ? `did you mean ${nearest}?` : `expected one of ${names.join(", ")}`;
}

/** The beginning and the end of a name count as letters. */
function pairsOf(name: string): string[] {
  return [...` ${name.toLowerCase()}`].map((letter, i, letters) => letter + (letters[i + 1] ?? " "));
}
