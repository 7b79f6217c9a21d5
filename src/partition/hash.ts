/** The partition of a client key: a keyed hash. No address, token or user id ever reaches Redis. */

import { BoundedMap } from "../bounded-map.ts";
import { HMAC, importSecret } from "./hmac.ts";

/** Who is counted: a kind (`ip`, `header:x-user+ip`, …) and one value for each of its parts. */
export interface ClientKey {
  readonly kind: string;
  readonly values: readonly string[];
}

/** A key that is remembered needs no promise. @param isRemembered default true; false: it will hardly come again. */
export type PartitionHasher = (key: ClientKey, isRemembered?: boolean) => string | Promise<string>;

/**
 * 170 bytes each for addresses, 650 for the longest keys: 1.6 to 6.2 MiB in each of two generations (Node 24, 2026-11).
 */
const REMEMBERED_PARTITIONS = 10_000;
const LONGEST_REMEMBERED = 512;
const PARTITION_BYTES = 16;
const encoder = new TextEncoder();

/**
 * HMAC-SHA-256 under `secret`, cut to 128 bits, as 22 characters of base64url. The hashed text is the kind and the
 * values, each after its length: no two kinds, and no two lists of values, give the same text.
 *
 * Without `secret` a secret is derived from `fallbackSecret` (the store's token): the token itself is never a hash key.
 */
export function partitionHasher(secret: string | undefined, fallbackSecret: string): PartitionHasher {
  const remembered = new BoundedMap<string, string>({ maxSize: REMEMBERED_PARTITIONS });
  // Plain data, not a promise: one request must not await a promise of another.
  let key: CryptoKey | undefined;

  async function sign(text: string, isRemembered: boolean): Promise<string> {
    key ??= await importSecret(secret, fallbackSecret);
    const partition = partitionOf(new Uint8Array(await crypto.subtle.sign(HMAC, key, hashedBytes(text))));
    // A very long value is not kept: it is hashed again.
    if (isRemembered && text.length <= LONGEST_REMEMBERED) remembered.set(text, partition);
    return partition;
  }

  return (client, isRemembered = true) => {
    const text = partitionText(client);
    return remembered.get(text) ?? sign(text, isRemembered);
  };
}

/** The kind and the values, each after its length. */
export function partitionText({ kind, values }: ClientKey): string {
  let text = `${kind.length}:${kind}`;
  for (const value of values) text += `${value.length}:${value}`;
  return text;
}

/**
 * The bytes of the text that are hashed. UTF-8 maps all lone surrogates to one character. JSON escapes them; its first
 * character, a quote, begins no other text.
 */
export function hashedBytes(text: string) {
  return encoder.encode(text.isWellFormed() ? text : JSON.stringify(text));
}

/** The partition that a hash gives. */
export function partitionOf(digest: Uint8Array): string {
  return btoa(String.fromCharCode(...digest.subarray(0, PARTITION_BYTES)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}
