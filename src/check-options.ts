/** Checks options when an object is made: a request should not be the first to meet an unknown name or a wrong type. */

/**
 * The type of each option, as `typeof` names it, for example `"number or function"`. `"any"`: another function checks
 * the value.
 */
type OptionTypes = Readonly<Record<string, string>>;

/**
 * Two names are alike if they share this part of the letter pairs of the longer name, or of the shorter one if the
 * longer one contains it. A name of four letters with one letter missing, doubled or swapped still shares 0.4.
 */
const ALIKE = 0.4;

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

function instead(name: string, types: OptionTypes): string {
  const names = Object.keys(types);
  const pairs = pairsOf(name);
  const likeness = (other: string) => {
    const others = pairsOf(other);
    const [a, b] = [name.toLowerCase(), other.toLowerCase()];
    const count = (a.includes(b) || b.includes(a) ? Math.min : Math.max)(pairs.length, others.length);
    return others.filter((pair) => pairs.includes(pair)).length / count;
  };
  const nearest = names.reduce((a, b) => (likeness(b) > likeness(a) ? b : a));
  return likeness(nearest) >= ALIKE ? `did you mean ${nearest}?` : `expected one of ${names.join(", ")}`;
}

/** Pairs of neighbouring letters. The beginning and the end of a name count as letters. */
function pairsOf(name: string): string[] {
  return [...` ${name.toLowerCase()}`].map((letter, i, letters) => letter + (letters[i + 1] ?? " "));
}
