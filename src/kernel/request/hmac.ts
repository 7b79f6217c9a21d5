/** HMAC-SHA-256 keys, and keys that are derived from a secret: one for each purpose. */

export const HMAC = { name: "HMAC", hash: "SHA-256" };
/** The purpose of the key that hashes client keys, when it is derived from the store's token. */
export const KEY_SECRET_PURPOSE = "headgate key secret";
const encoder = new TextEncoder();

export async function importHmacKey(
  secret: BufferSource,
  usages: readonly ("sign" | "verify")[] = ["sign"],
): Promise<CryptoKey> {
  return await crypto.subtle.importKey("raw", secret, HMAC, false, [...usages]);
}

/** The key of a secret. Without one it is derived from `fallback` (the store's token): that is never a key itself. */
export async function importSecret(secret: string | undefined, fallback: string): Promise<CryptoKey> {
  if (secret !== undefined) return await importHmacKey(encoder.encode(secret));
  return await importHmacKey(await deriveBytes(await importHmacKey(encoder.encode(fallback)), KEY_SECRET_PURPOSE));
}

/** 32 bytes for this purpose. They say nothing about the key, or about the bytes for another purpose. */
export async function deriveBytes(key: CryptoKey, purpose: string): Promise<ArrayBuffer> {
  return await crypto.subtle.sign(HMAC, key, encoder.encode(purpose));
}
