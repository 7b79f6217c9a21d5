/**
 * Sealed texts: tokens that a client carries, and can neither read nor change (AES-256-GCM).
 *
 * A token is base64url of: version (1 byte), seconds since the epoch (4), nonce (12), ciphertext, tag (16).
 */

import { base64url } from "jose";
import { deriveBytes, importSecret } from "../kernel/request/hmac.ts";

/** How long a token can be read. */
const VALID_SECONDS = 600;
/** How far the clock of the isolate that has made a token may be ahead. */
const AHEAD_SECONDS = 60;
/** Nobody reads a token so long after it was made, in ms. */
export const GONE_AFTER_MS = (VALID_SECONDS + AHEAD_SECONDS) * 1_000;
/** Random nonces allow 2^32 tokens under one key (NIST SP 800-38D, section 8.3): 1.2 million a second for an hour. */
const KEY_SECONDS = 3_600;
const [HEAD_BYTES, NONCE_BYTES, TAG_BYTES] = [5, 12, 16];

/** What the key is derived from. */
export interface SealSecret {
  readonly keySecret: string | undefined;
  /** Stands in for the key secret if there is none. Nobody else may know it. */
  readonly fallback: string;
}

interface SealOptions extends SealSecret {
  /** Goes into the key: a token for one purpose is none for another. */
  readonly purpose: string;
  /** Of the sealed text. */
  readonly version: number;
}

/** The longest text that fits into a token of so many characters, in bytes. */
export function mostTextBytes(tokenLength: number): number {
  return Math.floor((tokenLength * 3) / 4) - HEAD_BYTES - NONCE_BYTES - TAG_BYTES;
}

export function createSeal({ purpose, version, keySecret, fallback }: SealOptions) {
  // Plain data, not a promise: one request must not await a promise of another.
  let latest: { readonly hour: number; readonly key: CryptoKey } | undefined;

  async function keyFor(seconds: number): Promise<CryptoKey> {
    const hour = Math.floor(seconds / KEY_SECONDS);
    if (latest?.hour === hour) return latest.key;
    const bytes = await deriveBytes(await importSecret(keySecret, fallback), `${purpose} ${hour}`);
    const key = await crypto.subtle.importKey("raw", bytes, "AES-GCM", false, ["encrypt", "decrypt"]);
    latest = { hour, key };
    return key;
  }

  return {
    async seal(text: string, nowMs: number): Promise<string> {
      const seconds = Math.floor(nowMs / 1000);
      const bytes = new TextEncoder().encode(text);
      const token = new Uint8Array(HEAD_BYTES + NONCE_BYTES + bytes.length + TAG_BYTES);
      token[0] = version;
      new DataView(token.buffer).setUint32(1, seconds);
      const [head, nonce, rest] = partsOf(token);
      crypto.getRandomValues(nonce);
      rest.set(new Uint8Array(await crypto.subtle.encrypt(gcm(head, nonce), await keyFor(seconds), bytes)));
      return base64url.encode(token);
    },

    /** `old`: it was made more than 10 minutes ago. `foreign`: it is not what a gateway with this secret has made. */
    async open(
      sealed: string,
      nowMs: number,
    ): Promise<{ readonly text: string } | { readonly wrong: "old" | "foreign" }> {
      try {
        const token = new Uint8Array(base64url.decode(sealed));
        if (token.length < HEAD_BYTES + NONCE_BYTES + TAG_BYTES || token[0] !== version) return { wrong: "foreign" };
        const seconds = new DataView(token.buffer).getUint32(1);
        const age = nowMs / 1000 - seconds;
        if (age < -AHEAD_SECONDS) return { wrong: "foreign" };
        if (age > VALID_SECONDS) return { wrong: "old" };
        const [head, nonce, rest] = partsOf(token);
        const bytes = await crypto.subtle.decrypt(gcm(head, nonce), await keyFor(seconds), rest);
        return { text: new TextDecoder().decode(bytes) };
      } catch {
        return { wrong: "foreign" };
      }
    },
  };
}

function partsOf(token: Uint8Array<ArrayBuffer>) {
  const at = HEAD_BYTES + NONCE_BYTES;
  return [token.subarray(0, HEAD_BYTES), token.subarray(HEAD_BYTES, at), token.subarray(at)] as const;
}

/** The head is not encrypted, but cannot be changed either. */
function gcm(additionalData: Uint8Array<ArrayBuffer>, iv: Uint8Array<ArrayBuffer>) {
  return { name: "AES-GCM", iv, additionalData };
}
