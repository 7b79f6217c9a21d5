/** Who is counted: from a request to the client key of a policy. */

import { kindsRead } from "../config/fields/key.ts";
import type { ClientKey } from "../request/hash.ts";
import type { RequestHead } from "../request/request-head.ts";
import { ANONYMOUS, formOf, KEY_READERS, sourceOf } from "../request/sources.ts";

/**
 * The key of the first of `kinds` that the request has. Without any of them it is the address, and without an address
 * `ANONYMOUS`.
 *
 * @param region returns the name of the region that answers. Called only if a kind needs it.
 * @param ipv6Prefix as for `countedAddress`: that of the limiter which counts.
 * @param address returns the client's address, where something else than Cloudflare's edge knows it.
 */
export function clientKey(
  kinds: readonly string[],
  request: RequestHead,
  region: () => string,
  ipv6Prefix?: number,
  address?: () => string | null | undefined,
): ClientKey {
  for (const { kind, parts } of partsOf(kinds)) {
    const values: string[] = [];
    for (const part of parts) {
      const value = readPart(part, request, region, ipv6Prefix, address);
      if (!value) break;
      values.push(value);
    }
    if (values.length === parts.length) return { kind, values };
  }
  return ANONYMOUS;
}

type PartReader = ReturnType<typeof partOf>;
type KeyKind = { readonly kind: string; readonly parts: readonly PartReader[] };

/** By the list of a policy: taking texts apart for each request takes longer than reading the values. */
const known = new WeakMap<readonly string[], readonly KeyKind[]>();

/** The kinds to try, the address last. */
function partsOf(kinds: readonly string[]): readonly KeyKind[] {
  let all = known.get(kinds);
  if (!all) {
    all = [...kinds, "ip"].map((kind) => ({ kind, parts: kind.split("+").map(partOf) }));
    known.set(kinds, all);
  }
  return all;
}

/** Where a value comes from, what follows the source and a colon, and the form in which a value is counted. */
function partOf(part: string) {
  const source = sourceOf(part);
  const { counted, isAddress } = formOf(part);
  return { source, name: part.slice(source.length + 1), counted, isAddress };
}

/** Whether a client may be counted by its address: as a key of the policy, or because its request has none of them. */
export function mayBeAddress(kinds: readonly string[]): boolean {
  return kindsRead(kinds).some((kind) => kind.split("+").some((part) => formOf(part).isAddress));
}

/** The plan that a request names. @param source for example `header:x-plan`. @param region as for `clientKey`. */
export function namedPlan(source: string, request: RequestHead, region: () => string): string | undefined {
  const value = readPart(partOf(source), request, region) || undefined;
  return value && (formOf(source).planOf?.(value) ?? value);
}

/** The id of a request and where it comes from. Undefined: the request has none. @param source as for `namedPlan`. */
export function namedOnce(
  source: string,
  request: RequestHead,
  region: () => string,
): readonly [source: string, id: string] | undefined {
  const id = readPart(partOf(source), request, region);
  return id ? [source, id] : undefined;
}

/** The value of one part in the form that is counted. undefined or empty if the request does not have it. */
function readPart(
  { source, name, counted, isAddress }: PartReader,
  request: RequestHead,
  region: () => string,
  ipv6Prefix?: number,
  address?: () => string | null | undefined,
): string | undefined {
  const text = isAddress && address ? address() : KEY_READERS[source](request, name, region);
  return text && counted ? counted(text, ipv6Prefix) : text || undefined;
}
