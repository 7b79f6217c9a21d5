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
    if (text[i] === '"') {
      for (i++; i < text.length && text[i] !== '"'; i++) if (text[i] === "\\") i++;
      continue;
    }
    const kind = "{[,]}".indexOf(text[i]!);
    if (kind < 0) continue;
    if (kind < 2) open.push("}]"[kind]!);
    if (kind > 2) open.pop();
    length = kind === 2 ? i : i + 1;
  }
  return { json: text.slice(0, length) + open.reverse().join(""), length };
}
