/** Normal forms: one spelling for all spellings of a path or a host, in requests and in patterns. */

/** Thrown for a refused pattern. The message says what was expected; empty: the text is not a pattern at all. */
export class PatternMistake extends Error {}

/**
 * Encoded characters that a path may hold unencoded: pchar of RFC 3986 without `;`, and `[ ] ^ |`, which clients leave
 * unencoded. One match takes a whole run: a call of the decoder costs more than the characters that it decodes.
 */
const ENCODED_PLAIN = /(?:%(?:2[146-9a-e]|3[0-9ad]|4[0-9a-f]|5[0-9abd-f]|6[1-9a-f]|7[0-9ace]))+/gi;

/**
 * One normal form for the paths that an origin probably treats as one path. Characters that a path may hold unencoded
 * are decoded (once: `%256c` is another path), repeated slashes are merged, the slash at the end goes. `URL` has
 * resolved the dot segments. `;`, `%3B` and `%2F` stay.
 */
export function normalizePath(pathname: string): string {
  const merged = mergeSlashes(decodePlain(pathname));
  return merged.length > 1 && merged.endsWith("/") ? merged.slice(0, -1) : merged;
}

/** Decodes the characters that a path may hold unencoded. */
function decodePlain(text: string): string {
  return text.replace(ENCODED_PLAIN, decodeURIComponent);
}

function mergeSlashes(text: string): string {
  return text.includes("//") ? text.replace(/\/{2,}/g, "/") : text;
}

/** `Example.com.` and `example.com` are one host. */
export function normalizeHost(hostname: string): string {
  const end = /[^.]\.+$/.exec(hostname);
  return (end ? hostname.slice(0, end.index + 1) : hostname).toLowerCase();
}

/** Fixed text of a path pattern in the form of `normalizePath`, lower case; a slash at its end stays. */
export function pathText(text: string): string {
  if (/[?#\\]/.test(text)) {
    throw new PatternMistake(
      'a path without query and fragment; in a path "?", "#" and "\\" are written %3F, %23 and %5C',
    );
  }
  // Encode as `URL` encodes the path of a request.
  const encoded = text.toWellFormed().replace(/[^!$-;=@-Z[\]^_a-z|~]/gu, encodeURIComponent);
  return mergeSlashes(decodePlain(encoded)).toLowerCase();
}

/**
 * Fixed text of a host pattern in the form of `normalizeHost`.
 *
 * @param starts the pattern begins with this text. @param ends the pattern ends with this text.
 */
export function hostText(text: string, starts: boolean, ends: boolean): string {
  if (/[\s/?#@\\]/.test(text)) throw new PatternMistake();
  // A whole host has more spellings, which `URL` knows: addresses, and labels that are not ASCII.
  if (starts && ends) return normalizeHost(hostOf(text));
  const ascii = text.replace(/[^.]*\P{ASCII}[^.]*/gu, (label, at: number) => {
    const whole = (starts || at > 0) && (ends || at + label.length < text.length);
    if (!whole) throw new PatternMistake("a host name whose labels with wildcards are ASCII");
    return hostOf(label);
  });
  // `URL` refuses these characters, or decodes them.
  if (/[%<>^|]|[^!-~]/.test(ascii)) throw new PatternMistake();
  return ends ? normalizeHost(ascii) : ascii.toLowerCase();
}

function hostOf(text: string): string {
  const url = `http://${text}`;
  if (!URL.canParse(url)) throw new PatternMistake();
  return new URL(url).hostname;
}
