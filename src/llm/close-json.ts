/** JSON that was cut off, made whole. */

/**
 * Cuts behind the last value that is complete, and closes what is open there.
 *
 * @returns the JSON, and how many characters of the text are in it.
 */
export function closeJson(text: string): { readonly json: string; readonly length: number } {
  const open: string[] = [];
  let length = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text[i]!;
    if (c === '"') {
      for (i++; i < text.length && text[i] !== '"'; i++) if (text[i] === "\\") i++;
    } else if (c === "{" || c === "[") {
      open.push(c === "{" ? "}" : "]");
      length = i + 1;
    } else if (c === "}" || c === "]") {
      open.pop();
      length = i + 1;
    } else if (c === ",") {
      length = i;
    }
  }
  return { json: text.slice(0, length) + open.reverse().join(""), length };
}
