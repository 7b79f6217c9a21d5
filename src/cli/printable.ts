/**
 * What others have written must not steer the terminal, nor look like a line of ours: names in a file, paths in a log,
 * answers of a gateway. A line break in them could begin a line that a CI service takes for a command (`::error::`).
 */

const STEERING = /[\p{Cc}\p{Bidi_Control}]/gu;

/** Text within a line: characters that control the terminal or turn text around become `?`, line breaks too. */
export function printable(text: string): string {
  return text.replace(STEERING, "?");
}

/** One line of output, whatever the text holds. */
export function line(text: string): string {
  return `${printable(text)}\n`;
}

/** Text of several lines. Its line breaks stay: whoever made it has used `printable` for what others have written. */
export function printableLines(text: string): string {
  return text.replace(STEERING, (character) => (character === "\n" ? character : "?"));
}

/** A value as JSON. In JSON every character has a spelling that steers nothing. */
export function jsonText(value: unknown): string {
  const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return `${JSON.stringify(value, null, 2).replace(STEERING, (one) => (one === "\n" ? one : escaped(one)))}\n`;
}
