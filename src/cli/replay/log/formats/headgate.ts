/**
 * Lines that a gateway has recorded (`RECORD`, docs/replay.md): as the console shows them, or inside the events that
 * `wrangler tail --format json` and Logpush save. An event holds all messages of one request:
 * https://developers.cloudflare.com/logs/logpush/logpush-job/datasets/account/workers_trace_events/ (`Logs`).
 *
 * Only messages of the console are read. Other parts of an event hold what clients have sent.
 */

import { isTable, parseJson } from "../../../../kernel/config/bindings.ts";
import type { RequestHead } from "../../../../kernel/request/request-head.ts";
import { instantInMs, type LineReader, type LogFormat, type LoggedRequest, type RecordedTake } from "../format.ts";

/** The beginning of every line, as src/operate/log.ts writes it. */
const BEGIN = '{"event":"decision"';
/** The same in an array of messages that was written with line breaks, as `wrangler tail --format json` does. */
const QUOTED = JSON.stringify(BEGIN).slice(0, -1);
const VERSION = 1;
const SAMPLED =
  "The lines are those of some of the clients (RECORD): a limit that clients share has not seen all requests.";

const NO_HEAD: RequestHead = { method: "", url: "", headers: { get: () => null, has: () => false } };

export const headgate: LogFormat = {
  name: "headgate",
  // An event without a decision too: a file of a quiet minute may hold nothing else.
  recognizes: (line) => messagesIn(line).length > 0 || /^\s*"logs": \[/.test(line) || logsOf(line.trim()) !== undefined,
  reader,
};

function reader(notes: Set<string>): LineReader {
  function entryOf(message: string): LoggedRequest | string {
    const line = parseJson(message);
    if (!isTable(line)) return "the recorded decision ends early";
    const { v, at, region, allowed, share, takes } = line;
    if (v !== VERSION) return `it is a recorded decision of another version than ${VERSION}`;
    const recorded = Array.isArray(takes) ? takes.map(takeOf) : [undefined];
    const isWhole = typeof region === "string" && typeof allowed === "boolean";
    if (!isWhole || !recorded.every((take) => take !== undefined)) return "it is no whole recorded decision";
    if (!Number.isSafeInteger(at) || Number.isNaN(instantInMs(at as number))) return "its time is not an instant";
    if (typeof share === "number" && share < 1) notes.add(SAMPLED);
    return { atMs: at as number, head: NO_HEAD, recorded: { takes: recorded, region, allowed } };
  }

  return {
    read(line) {
      const entries = messagesIn(line).map(entryOf);
      const wrong = entries.find((one) => typeof one === "string");
      return wrong ?? entries.filter((one) => typeof one === "object");
    },
    // A line is written before the answer.
    lacks: (part) => (part === "duration" || part === "status" ? `the ${part} of the request` : undefined),
  };
}

function takeOf(take: unknown): RecordedTake | undefined {
  if (!isTable(take)) return undefined;
  const { policy, kind, key, cost, plan, once, refused } = take;
  if (typeof policy !== "string" || typeof kind !== "string" || typeof key !== "string") return undefined;
  if (!Number.isSafeInteger(cost) || (cost as number) < 0) return undefined;
  const text = (value: unknown) => (typeof value === "string" ? value : undefined);
  const more = { plan: text(plan), once: text(once), refused: refused === true };
  return { policy, kind, partition: key, cost: cost as number, ...more };
}

/** The recorded decisions among the console's messages in this line. */
function messagesIn(line: string): readonly string[] {
  if (!line.includes("decision")) return [];
  const text = line.trim();
  if (text.startsWith(BEGIN)) return [text];
  // An element of an array: what clients have sent stands behind a name.
  if (text.startsWith(QUOTED)) return messages([parseJson(text.replace(/,$/, "")) ?? BEGIN]);
  const logs = logsOf(text) ?? [];
  return messages(logs.flatMap((one) => (isTable(one) ? (one.message ?? one.Message) : [])));
}

/** The messages of an event. Undefined: the text is no event. */
function logsOf(text: string): readonly unknown[] | undefined {
  const event = text.startsWith("{") ? parseJson(text.replace(/,$/, "")) : undefined;
  const logs = isTable(event) ? (event.logs ?? event.Logs) : undefined;
  return Array.isArray(logs) ? logs : undefined;
}

function messages(all: readonly unknown[]): string[] {
  return all.filter((one): one is string => typeof one === "string" && one.startsWith(BEGIN));
}
