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
const BASE64URL = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
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

  function hash(text: string, isRemembered: boolean): string {
    const partition = partitionOf(hmac(hashedBytes(text)));
    // A very long value is not kept: it is hashed again.
    if (isRemembered && text.length <= LONGEST_REMEMBERED) remembered.set(text, partition);
    return partition;
  }

  return (client, isRemembered = true) => {
    const text = partitionText(client);
    return remembered.get(text) ?? hash(text, isRemembered);
  };
}

function derived(fallbackSecret: string): Uint8Array {
  return hmacOf(encoder.encode(fallbackSecret))(encoder.encode(KEY_SECRET_PURPOSE));
}

const BLOCK_BYTES = 64;

/**
 * HMAC-SHA-256 (RFC 2104). The key is hashed once: each text begins with a copy of the two states, and all copies and
 * digests use the same memory. The library's own HMAC, and its `sha256` for any use, would add 0.7 KiB to every bundle.
 *
 * @returns a function whose result is valid until it is called again.
 */
function hmacOf(secret: Uint8Array): (text: Uint8Array) => Uint8Array {
  const key = new Uint8Array(BLOCK_BYTES);
  key.set(secret.length > BLOCK_BYTES ? new Sha256().update(secret).digest() : secret);
  const inner = new Sha256().update(key.map((byte) => byte ^ 0x36));
  const outer = new Sha256().update(key.map((byte) => byte ^ 0x5c));
  const [copy, digest] = [new Sha256(), new Uint8Array(inner.outputLen)];
  return (text) => {
    inner._cloneInto(copy).update(text).digestInto(digest);
    outer._cloneInto(copy).update(digest).digestInto(digest);
    return digest;
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
function hashedBytes(text: string) {
  return encoder.encode(text.isWellFormed() ? text : JSON.stringify(text));
}

/** The partition that a hash gives. `btoa` and the change of its alphabet would take as long as the hash. */
function partitionOf(digest: Uint8Array): string {
  const codes: number[] = [];
  let bits = 0;
  let held = 0;
  for (let i = 0; i < PARTITION_BYTES; i++) {
    bits = (bits << 8) | digest[i]!;
    held += 8;
    for (; held >= 6; held -= 6) codes.push(BASE64URL.charCodeAt((bits >> (held - 6)) & 63));
  }
  codes.push(BASE64URL.charCodeAt((bits << (6 - held)) & 63));
  return String.fromCharCode(...codes);
}
