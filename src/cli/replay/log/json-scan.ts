/**
 * Finds the values of some fields in lines that are JSON objects with the same keys in the same order, by one regular
 * expression that is made from the keys: `JSON.parse` takes three to four times as long. It takes linear time, because
 * the first character of a value decides of which kind the value is.
 */

const INNER = '[^"\\\\\\x00-\\x1f]*(?:\\\\(?:["\\\\/bfnrt]|u[\\da-fA-F]{4})[^"\\\\\\x00-\\x1f]*)*';
const TEXT = `"${INNER}"`;
/** What is read must be JSON: it is parsed later, when nobody can say any more that the line is damaged. */
const PLAIN = "-?(?:0|[1-9]\\d*)(?:\\.\\d+)?(?:[eE][-+]?\\d+)?|true|false|null";
const LIST = `\\[(?:(?:${TEXT}|${PLAIN})(?:,(?:${TEXT}|${PLAIN}))*)?\\]`;
const MEMBER = `${TEXT}:(?:${TEXT}|${PLAIN}|${LIST})`;
const READ_OTHER = `${PLAIN}|\\{(?:${MEMBER}(?:,${MEMBER})*)?\\}|${LIST}`;
/** What is not read: objects and arrays of plain values, and anything else without punctuation. */
const OTHER = `[-+.\\w]+|\\{(?:[^"{}]|${TEXT})*\\}|\\[(?:[^"[\\]]|${TEXT})*\\]`;

export class JsonScan {
  readonly #wanted: readonly string[];
  #pattern: RegExp | undefined;
  /** The keys that the pattern has, and those of the last object that it did not fit. */
  #patternKeys = "";
  #lastKeys = "";
  /**
   * For each wanted key the group of its text in the pattern; a value that is not a text has the next group. 0: none.
   */
  #groups: readonly number[] = [];
  #patternGroups: readonly number[] = [];
  /** Of the last line: what its groups have. */
  #found: readonly (string | undefined)[] = [];
  readonly #ownGroups: readonly number[];

  /** @param wanted keys. Values are asked for by their index. */
  constructor(wanted: readonly string[]) {
    this.#wanted = wanted;
    this.#ownGroups = wanted.map((_, i) => 2 * i + 1);
  }

  /** Finds the values in a line. False: the line has another form, or is damaged. */
  scan(line: string): boolean {
    const match = this.#pattern?.exec(line);
    if (!match) return false;
    this.#found = match;
    this.#groups = this.#patternGroups;
    return true;
  }

  /** Takes the values of an object, and its keys as the form of the next lines if the object before it had them too. */
  learn(record: Readonly<Record<string, unknown>>): void {
    const found: (string | undefined)[] = [undefined];
    for (const key of this.#wanted) {
      const json = Object.hasOwn(record, key) ? JSON.stringify(record[key]) : undefined;
      if (json?.startsWith('"')) found.push(json.slice(1, -1), undefined);
      else found.push(undefined, json);
    }
    this.#found = found;
    this.#groups = this.#ownGroups;
    const keys = JSON.stringify(Object.keys(record));
    if (keys !== this.#patternKeys && keys === this.#lastKeys) this.#makePattern(Object.keys(record));
    this.#lastKeys = keys;
  }

  #makePattern(keys: readonly string[]): void {
    const parts = keys.map((key) => {
      const value = this.#wanted.includes(key) ? `(?:"(${INNER})"|(${READ_OTHER}))` : `(?:${TEXT}|${OTHER})`;
      return `${JSON.stringify(key).replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")}:${value}`;
    });
    this.#pattern = new RegExp(`^\\{${parts.join(",")}\\}$`);
    this.#patternKeys = JSON.stringify(keys);
    const inPattern = keys.filter((key) => this.#wanted.includes(key));
    this.#patternGroups = this.#wanted.map((key) => 2 * inPattern.indexOf(key) + 1).map((group) => Math.max(group, 0));
  }

  /** A text without its quotes, escapes as they are written. Undefined: no text, or an empty one. */
  text(index: number): string | undefined {
    const group = this.#groups[index]!;
    return group === 0 ? undefined : this.#found[group] || undefined;
  }

  /** A value that is not a text, as JSON. Undefined: there is none, or it is null. */
  other(index: number): string | undefined {
    const group = this.#groups[index]!;
    const json = group === 0 ? undefined : this.#found[group + 1];
    return json === "null" ? undefined : json;
  }
}

/** A text without its quotes as it was meant. */
export function unescapedJson(text: string): string {
  return text.includes("\\") ? (JSON.parse(`"${text}"`) as string) : text;
}
