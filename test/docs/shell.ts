// Runs a guide's shell commands as a reader would, and compares what they print with the guide.

import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** What the commands print, with the line breaks of a guide. @param cwd the folder; default: the present one. */
export async function printedBy(
  commands: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd = process.cwd(),
): Promise<string> {
  const { stdout } = await promisify(execFile)("bash", ["-c", commands.join("\n")], {
    encoding: "utf8",
    env: { ...process.env, ...env },
    cwd,
  });
  // Answers in JSON end without a line break.
  return stdout.replaceAll("\r\n", "\n").replaceAll("}{", "}\n{");
}

/** The text without values that change from one moment to the next. */
export function timeless(text: string): string {
  return (
    text
      .replaceAll(
        /(Retry-After: |retry-after-ms: |;t=|X-RateLimit-Reset: |AfterMs":|latencyMs":|Content-Length: |again in )\d+/g,
        "$1…",
      )
      .replaceAll(/seconds?\./g, "seconds.")
      // A wait that begins with the minute is longer than 60 s.
      .replace("X-Should-Retry: false\n", "")
      .replaceAll(/"(key|secret)":"[\w-]{22}"/g, '"$1":"…"')
      .trimEnd()
  );
}

/**
 * Runs `steps` within one minute of the clock. Units come back when the next minute begins: a run that is not finished
 * by then starts again.
 */
export async function withinAMinute<T>(steps: () => Promise<T>): Promise<T> {
  for (;;) {
    const minute = minuteNow();
    const result = await steps();
    if (minute === minuteNow()) return result;
  }
}

const minuteNow = () => Math.floor(Date.now() / 60_000);
