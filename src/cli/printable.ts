/** What others have written must not steer the terminal: control characters become question marks. */
export function printable(text: string): string {
  return text.replace(/\p{Cc}/gu, "?");
}
