/** One JSON line for each answer that cannot be read: its reservation stays charged. */

import { createLines } from "../../lines.ts";

/** The most characters of a header field: an origin has written it. */
const LONGEST_VALUE = 100;

const write = createLines();

export function logUnread(policies: readonly string[], headers: Headers): void {
  const shown = (name: string) => headers.get(name)?.slice(0, LONGEST_VALUE);
  write(() => ({
    event: "answer-not-metered",
    at: new Date().toISOString(),
    policies,
    contentType: shown("Content-Type"),
    contentEncoding: shown("Content-Encoding"),
  }));
}
