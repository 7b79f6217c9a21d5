/**
 * Texts that the gateway encrypts for itself (AES-256-GCM): whoever carries one can neither read nor change it.
 *
 * A token is base64url of: version (1 byte), seconds since the epoch (4), nonce (12), ciphertext, tag (16).
 */

import { deriveBytes } from "../../partition/hmac.ts";
import { decodeBase64Url, encodeBase64Url } from "../base64url.ts";

/** How long a token can be read. */
const VALID_SECONDS = 600;
/** The longest token, in characters: a field of a header section that may hold 16 KiB in all. */
const MAX_TOKEN = 2_048;
/** Random nonces allow 2^32 tokens under one key (NIST SP 800-38D, section 8.3): 1.2 million a second for an hour. */
const KEY_SECONDS = 3_600;
const VERSION = 1;
const [HEAD_BYTES, NONCE_BYTES, TAG_BYTES] = [5, 12, 16];

/** The longest text that fits into a token, in bytes. */
export const MAX_TEXT_BYTES = Math.floor((MAX_TOKEN * 3) / 4) - HEAD_BYTES - NONCE_BYTES - TAG_BYTES;

export interface Tokens {
  /** @param text at most `MAX_TEXT_BYTES` long. */
  seal(text: string, nowMs: number): Promise<string>;
  /** `old`: it was made more than 10 minutes ago. `foreign`: it is not what a gateway with this secret has made. */
  open(token: string, nowMs: number): Promise<{ readonly text: string } | { readonly wrong: "old" | "foreign" }>;
}

/** @param secret imports the key of the key secret. Called once an hour, and for tokens of another hour. */
export function createTokens(secret: () => Promise<CryptoKey>): Tokens {
  // Plain data, not a promise: one request must not await a promise of another.
  let latest: { readonly hour: number; readonly key: CryptoKey } | undefined;

  async function keyFor(seconds: number): Promise<CryptoKey> {
    const hour = Math.floor(seconds / KEY_SECONDS);
    if (latest?.hour === hour) return latest.key;
    const bytes = await deriveBytes(await secret(), `headgate explain ${hour}`);
    const key = await crypto.subtle.importKey("raw", bytes, "AES-GCM", false, ["encrypt", "decrypt"]);
    latest = { hour, key };
    return key;
  }

  return {
    async seal(text, nowMs) {
      const seconds = Math.floor(nowMs / 1000);
      const bytes = new TextEncoder().encode(text);
      const token = new Uint8Array(HEAD_BYTES + NONCE_BYTES + bytes.length + TAG_BYTES);
      token[0] = VERSION;
      new DataView(token.buffer).setUint32(1, seconds);
      const [head, nonce, rest] = partsOf(token);
      crypto.getRandomValues(nonce);
      rest.set(new Uint8Array(await crypto.subtle.encrypt(gcm(head, nonce), await keyFor(seconds), bytes)));
      return encodeBase64Url(token);
    },

    async open(text, nowMs) {
      const token = text.length <= MAX_TOKEN ? decodeBase64Url(text) : undefined;
      if (!token || token.length < HEAD_BYTES + NONCE_BYTES + TAG_BYTES || token[0] !== VERSION) {
        return { wrong: "foreign" };
      }
      const seconds = new DataView(token.buffer, token.byteOffset).getUint32(1);
      // An isolate's clock may be ahead of this one.
      if (Math.abs(nowMs / 1000 - seconds) > VALID_SECONDS) return { wrong: "old" };
      const [head, nonce, rest] = partsOf(token);
      try {
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
