/** How text becomes tokens where no provider has counted. */

/**
 * OpenAI's rule of thumb is 4 characters of English a token (help.openai.com, article 4936856, "What are tokens and how
 * to count them?"). Counted in bytes of UTF-8, text of other scripts gets more tokens a character, as it does there.
 */
export const BYTES_PER_TOKEN = 4;

export function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

/** Bytes of a UTF-16 code unit in UTF-8. Each half of a surrogate pair counts as half of its 4 bytes. */
export function bytesOfUnit(unit: number): number {
  if (unit < 0x80) return 1;
  return unit < 0x800 || (unit & 0xf800) === 0xd800 ? 2 : 3;
}

export function bytesOfText(text: string): number {
  let bytes = 0;
  for (let i = 0; i < text.length; i++) bytes += bytesOfUnit(text.charCodeAt(i));
  return bytes;
}
