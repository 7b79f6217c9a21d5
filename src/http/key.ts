/** Who is counted: from a request to the client key of a policy. */

import { ANONYMOUS, countedValue, KEY_READERS, sourceOf } from "../keys/sources.ts";
import type { ClientKey } from "../partition/hash.ts";

/**
 * The first of `kinds` that the request presents; without any its address; without an address `ANONYMOUS`.
 *
 * @param region name of the region that answers; called only if a kind needs it.
 */
export function clientKey(kinds: readonly string[], request: Request, region: () => string): ClientKey {
  for (const kind of [...kinds, "ip"]) {
    const values = kind.split("+").map((part) => readPart(part, request, region));
    if (values.every((value) => value !== undefined && value !== "")) return { kind, values: values as string[] };
  }
  return ANONYMOUS;
}

/** The value of one part in the form that is counted; undefined or empty if the request does not present it. */
function readPart(part: string, request: Request, region: () => string): string | undefined {
  const source = sourceOf(part);
  const text = KEY_READERS[source](request, part.slice(source.length + 1), region);
  return text ? countedValue(part, text) : undefined;
}
