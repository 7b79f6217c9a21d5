/** A few values of a line in one text of its own: a part of the line would keep the whole line in memory. */

/** @param values without tabs. Undefined and empty are the same. */
export function pack(values: readonly (string | undefined)[]): string {
  return values.join("\t");
}

/** @returns undefined for an empty value. */
export function unpack(packed: string, index: number): string | undefined {
  let start = 0;
  for (let i = 0; i < index; i++) start = packed.indexOf("\t", start) + 1;
  const end = packed.indexOf("\t", start);
  const value = packed.slice(start, end < 0 ? packed.length : end);
  return value === "" ? undefined : value;
}
