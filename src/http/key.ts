/** Who is counted: from a request to the client key of a policy. */

import { ANONYMOUS, formOf, KEY_READERS, sourceOf } from "../keys/sources.ts";
import type { ClientKey } from "../partition/hash.ts";

/**
 * The key of the first of `kinds` that the request has. Without any of them it is the address, and without an address
 * `ANONYMOUS`.
 *
 * @param region returns the name of the region that answers. Called only if a kind needs it.
 */
export function clientKey(kinds: readonly string[], request: Request, region: () => string): ClientKey {
  for (const kind of [...kinds, "ip"]) {
    const values = partsOf(kind).map((read) => read(request, region));
    if (values.every(Boolean)) return { kind, values: values as string[] };
  }
  return ANONYMOUS;
}

/** The plan that a request names. @param source for example `header:x-plan`. @param region as for `clientKey`. */
export function namedPlan(source: string, request: Request, region: () => string): string | undefined {
  return partsOf(source)[0]!(request, region) || undefined;
}

/** The value of one part in the form that is counted. undefined or empty if the request does not have it. */
type ReadPart = (request: Request, region: () => string) => string | undefined;

/** By the kinds and sources in policies: to take one apart takes longer than to read its value. */
const parts = new Map<string, readonly ReadPart[]>();

function partsOf(kind: string): readonly ReadPart[] {
  let known = parts.get(kind);
  if (!known) {
    known = kind.split("+").map(readerOf);
    parts.set(kind, known);
  }
  return known;
}

function readerOf(part: string): ReadPart {
  const source = sourceOf(part);
  const name = part.slice(source.length + 1);
  const { counted } = formOf(part);
  return (request, region) => {
    const text = KEY_READERS[source](request, name, region);
    return text && counted ? counted(text) : (text ?? undefined);
  };
}
