/** A log in memory or in files of a folder of its own, read to its end. */

import { join } from "node:path";
import type { LoggedRequest } from "../../../../src/cli/replay/log/format.ts";
import { type OpenLog, openLog } from "../../../../src/cli/replay/log/open.ts";

export const SAMPLES = join(import.meta.dirname, "..", "samples");

export interface ReadLog {
  readonly log: OpenLog;
  readonly entries: readonly LoggedRequest[];
}

export async function readFiles(
  names: readonly string[],
  { cwd = SAMPLES, stdin = [], format }: { cwd?: string; stdin?: Iterable<Uint8Array>; format?: string } = {},
): Promise<ReadLog> {
  const log = await openLog(names, format, { cwd, stdin: streamOf(stdin) });
  const entries: LoggedRequest[] = [];
  for await (const batch of log.batches()) entries.push(...batch);
  return { log, entries };
}

/** From the standard input. */
export function readText(text: string | Uint8Array, format?: string): Promise<ReadLog> {
  return readFiles(["-"], { stdin: [Buffer.from(text)], ...(format && { format }) });
}

async function* streamOf(chunks: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* chunks;
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** A line of nginx. */
export function accessLine(atMs: number, path: string): string {
  const [date = "", time = ""] = new Date(atMs).toISOString().split("T");
  const [year, month, day] = date.split("-");
  const at = `${day}/${MONTHS[Number(month) - 1]}/${year}:${time.slice(0, 8)} +0000`;
  return `192.0.2.1 - - [${at}] "GET ${path} HTTP/1.1" 200 1 "-" "-"\n`;
}

/** What decides: when, what, and which headers a policy may look at. */
export function seen({ atMs, durationMs, head }: LoggedRequest): Record<string, unknown> {
  const names = ["CF-Connecting-IP", "host", "user-agent", "referer", "cookie", "authorization", "x-api-key"];
  const headers = names.map((name) => [name, head.headers.get(name)]).filter(([, value]) => value !== null);
  return {
    at: new Date(atMs).toISOString(),
    ...(durationMs !== undefined && { durationMs }),
    request: `${head.method} ${head.url}`,
    ...Object.fromEntries(headers),
    ...(head.cf !== undefined && { cf: { ...head.cf } }),
  };
}
