/** What others have written must not steer the terminal: characters that control it or turn text around become `?`. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Bidi_Control}]/gu, "?");
}
