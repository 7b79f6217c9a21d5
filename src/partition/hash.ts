/** The partition of a client key: a keyed hash. No address, token or user id ever reaches Redis. */

import { _SHA256 as Sha256 } from "@noble/hashes/sha2.js";
import { BoundedMap } from "../bounded-map.ts";
import { KEY_SECRET_PURPOSE } from "./hmac.ts";

/** Who is counted: a kind (`ip`, `header:x-user+ip`, …) and one value for each of its parts. */
export interface ClientKey {
  readonly kind: string;
  readonly values: readonly string[];
}

/** @param isRemembered default true; false: the key will hardly come again. */
export type PartitionHasher = (key: ClientKey, isRemembered?: boolean) => string;

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
 *
 * Not WebCrypto: it hashes on another thread, and a new key then waits 20 times as long as the hash takes.
 */
export function partitionHasher(secret: string | undefined, fallbackSecret: string): PartitionHasher {
  const remembered = new BoundedMap<string, string>({ maxSize: REMEMBERED_PARTITIONS });
  const hmac = hmacOf(secret === undefined ? derived(fallbackSecret) : encoder.encode(secret));

  return (client, isRemembered = true) => {
    const text = partitionText(client);
    const known = remembered.get(text);
    if (known !== undefined) return known;
    const partition = partitionOf(hmac(hashedBytes(text)));
    // A very long value is not kept: it is hashed again.
    if (isRemembered && text.length <= LONGEST_REMEMBERED) remembered.set(text, partition);
    return partition;
  };
}

function derived(fallbackSecret: string): Uint8Array {
  return hmacOf(encoder.encode(fallbackSecret))(encoder.encode(KEY_SECRET_PURPOSE));
}

const BLOCK_BYTES = 64;

/**
 * HMAC-SHA-256 (RFC 2104). The key is hashed once: each text begins with a copy of the two states. The library's own
 * HMAC, and its `sha256` for any use, would add 0.7 KiB to every bundle.
 */
function hmacOf(secret: Uint8Array): (text: Uint8Array) => Uint8Array {
  const key = new Uint8Array(BLOCK_BYTES);
  key.set(secret.length > BLOCK_BYTES ? new Sha256().update(secret).digest() : secret);
  const inner = new Sha256().update(key.map((byte) => byte ^ 0x36));
  const outer = new Sha256().update(key.map((byte) => byte ^ 0x5c));
  return (text) => outer.clone().update(inner.clone().update(text).digest()).digest();
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
