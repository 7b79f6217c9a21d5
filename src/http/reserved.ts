/** Paths that belong to the gateway: it answers them itself, and counts none of them. */

import { normalizePath } from "../pattern/text.ts";

/** What a reserved path without anything behind it answers. */
export const NO_SUCH_PATH = "Paths under /.headgate/ belong to the gateway, and this path does not exist.";

/** `/.headgate` with every character encoded. */
const LONGEST_RESERVED = "/.headgate".length * 3;

/**
 * Whether the path is under `/.headgate/`, in any spelling. A URL without that word and without `%` in front of its
 * query is not parsed: this saves time.
 */
export function isReserved(url: string): boolean {
  if (!/^[^?]*?(?:headgate|%)/i.test(url)) return false;
  const [, first = ""] = /^\/+([^/]*)/.exec(new URL(url).pathname) ?? [];
  return normalizePath(`/${first.slice(0, LONGEST_RESERVED)}`).toLowerCase() === "/.headgate";
}
