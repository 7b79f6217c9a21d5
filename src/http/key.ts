/** Who is counted: from a request to the client key of a policy. */

import type { RequestHead } from "../keys/request-head.ts";
import { ANONYMOUS, countedValue, KEY_READERS, sourceOf } from "../keys/sources.ts";
import type { ClientKey } from "../partition/hash.ts";

/**
 * The key of the first of `kinds` that the request has. Without any of them it is the address, and without an address
 * `ANONYMOUS`.
 *
 * @param region returns the name of the region that answers. Called only if a kind needs it.
 */
export function clientKey(kinds: readonly string[], request: RequestHead, region: () => string): ClientKey {
  for (const kind of [...kinds, "ip"]) {
    const values = kind.split("+").map((part) => readPart(part, request, region));
    if (values.every((value) => value !== undefined && value !== "")) return { kind, values: values as string[] };
  }
  return ANONYMOUS;
}

/** The plan that a request names. @param source for example `header:x-plan`. @param region as for `clientKey`. */
export function namedPlan(source: string, request: RequestHead, region: () => string): string | undefined {
  return readPart(source, request, region) || undefined;
}

/** The value of one part in the form that is counted. undefined or empty if the request does not have it. */
function readPart(part: string, request: RequestHead, region: () => string): string | undefined {
  const source = sourceOf(part);
  const text = KEY_READERS[source](request, part.slice(source.length + 1), region);
  return text ? countedValue(part, text) : undefined;
}
