/** One form for the spellings of a path and of a host, in requests and in patterns. */

import { PatternMistake } from "./node.ts";

/**
 * Encoded characters that a path may hold as they are: pchar of RFC 3986 but for `;`, and `[ ] ^ |`, which clients do not encode either.
 * Several at once, because each call costs more than what it decodes.
 */
const ENCODED_PLAIN = /(?:%(?:2[146-9a-e]|3[0-9ad]|4[0-9a-f]|5[0-9abd-f]|6[1-9a-f]|7[0-9ace]))+/gi;

/**
 * One form for the paths that an origin is likely to treat as one: every character that a path may hold as it is decoded
 * (once: `%256c` is another path), repeated slashes merged, no trailing slash. Dot segments were resolved by URL; `;`,
 * `%3B` and `%2F` stay.
 */
export function normalizePath(pathname: string): string {
  const merged = mergeSlashes(decodePlain(pathname));
  return merged.length > 1 && merged.endsWith("/") ? merged.slice(0, -1) : merged;
}

/** Characters that a path may hold as they are, as they are. */
export function decodePlain(text: string): string {
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

/** Fixed text of a path pattern in the form of `normalizePath`, but for a slash at its end, lower case. */
export function pathText(text: string): string {
  if (/[?#\\]/.test(text)) {
    throw new PatternMistake(
      'a path without query and fragment; in a path "?", "#" and "\\" are written %3F, %23 and %5C',
    );
  }
  // As URL encodes a request's path.
  const encoded = text.toWellFormed().replace(/[^!$-;=@-Z[\]^_a-z|~]/gu, encodeURIComponent);
  return mergeSlashes(decodePlain(encoded)).toLowerCase();
}

/**
 * Fixed text of a host pattern in the form of `normalizeHost`.
 *
 * @param starts the pattern begins with it. @param ends the pattern ends with it.
 */
export function hostText(text: string, starts: boolean, ends: boolean): string {
  if (/[\s/?#@\\]/.test(text)) throw new PatternMistake();
  // URL knows more spellings of a whole host: addresses, and labels that are not ASCII.
  if (starts && ends) return normalizeHost(hostOf(text));
  const ascii = text.replace(/[^.]*\P{ASCII}[^.]*/gu, (label, at: number) => {
    const whole = (starts || at > 0) && (ends || at + label.length < text.length);
    if (!whole) throw new PatternMistake("a host name whose labels with wildcards are ASCII");
    return hostOf(label);
  });
  return ends ? normalizeHost(ascii) : ascii.toLowerCase();
}

function hostOf(text: string): string {
  const url = `http://${text}`;
  if (!URL.canParse(url)) throw new PatternMistake();
  return new URL(url).hostname;
}
