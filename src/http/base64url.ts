/** base64url without padding (RFC 4648, section 5), for what clients carry. */

import { base64url } from "jose";

export function encodeBase64Url(bytes: Uint8Array): string {
  return base64url.encode(bytes);
}

/** Undefined: the text is not base64url. */
export function decodeBase64Url(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return new Uint8Array(base64url.decode(text));
  } catch {
    return undefined;
  }
}
