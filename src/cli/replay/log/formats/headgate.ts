/**
 * Lines that a gateway has recorded (`RECORD`, docs/recording.md): as the console shows them, or inside the events that
 * `wrangler tail --format json` and Logpush save. An event holds all messages of one request:
 * https://developers.cloudflare.com/logs/logpush/logpush-job/datasets/account/workers_trace_events/ (`Logs`).
 *
 * Only messages of the console are read. Other parts of an event hold what clients have sent.
 */

import { isTable, parseJson } from "../../../../config/bindings.ts";
import type { RequestHead } from "../../../../keys/request-head.ts";
import type { Format, LineReader, LogEntry, Needed, RecordedTake } from "../format.ts";
import { instantInMs } from "../line-head.ts";

/** The beginning of every line, as src/http/record.ts writes it. */
const BEGIN = '{"event":"decision"';
/** The same in an array of messages that was written with line breaks, as `wrangler tail --format json` does. */
const QUOTED = JSON.stringify(BEGIN).slice(0, -1);
/** `wrangler tail --format pretty` writes this in front of a message. */
const PRETTY = "(log) ";
const VERSION = 1;

const NO_HEAD: RequestHead = { method: "", url: "", headers: { get: () => null, has: () => false } };

export const headgate: Format = {
  name: "headgate",
  // An event without a decision too: a file of a quiet minute may hold nothing else.
  recognizes: (line) => messagesIn(line).length > 0 || isEvent(line),
  reader: () => new HeadgateReader(),
};

class HeadgateReader implements LineReader {
  #share = 1;
  #leases = 0;
  #fallbacks = 0;
  #decisions = 0;
  #hasEvents = false;

  read(line: string): LogEntry | readonly LogEntry[] | undefined | string {
    const messages = messagesIn(line);
    if (messages.length === 0) {
      this.#hasEvents ||= isEvent(line);
      return undefined;
    }
    this.#decisions += messages.length;
    const entries: LogEntry[] = [];
    for (const message of messages) {
      const entry = this.#entryOf(message);
      if (typeof entry === "string") return entry;
      entries.push(entry);
    }
    return entries.length === 1 ? entries[0] : entries;
  }

  lacks(needed: Needed): string | undefined {
    return LACKED[needed];
  }

  notes(): string[] {
    const notes: string[] = [];
    if (this.#decisions === 0 && this.#hasEvents) {
      notes.push("A file holds events of a Worker, but no recorded decision. The gateway may have had no requests.");
    }
    if (this.#share < 1) {
      const percent = Number((100 * this.#share).toPrecision(6));
      notes.push(
        `The lines are those of ${percent} % of the clients (RECORD). Numbers are those of the sample, and a limit ` +
          "that several clients share has seen only a part of its requests.",
      );
    }
    if (this.#leases > 0) {
      notes.push(
        `${decisions(this.#leases)} came from leases. Their policies differ in the replay, also where the store ` +
          "decided: units are charged when they are used, not when they are leased, and no isolate pauses.",
      );
    }
    if (this.#fallbacks > 0) {
      notes.push(
        `${decisions(this.#fallbacks)} were made without an answer of the store. The replay decides them as if the ` +
          "store had answered.",
      );
    }
    return notes;
  }

  #entryOf(message: string): LogEntry | string {
    const line = parseJson(message);
    if (!isTable(line)) return "the recorded decision ends early";
    const { v, at, region, source, allowed, share, takes } = line;
    if (v !== VERSION) return `it is a recorded decision of another version than ${VERSION}`;
    const isWhole = Number.isSafeInteger(at) && typeof region === "string" && typeof source === "string";
    if (!isWhole || typeof allowed !== "boolean" || !Array.isArray(takes)) return "it is no whole recorded decision";
    if (Number.isNaN(instantInMs(at as number))) return "its time is not an instant";
    const recorded = takes.map(takeOf);
    if (!recorded.every((take) => take !== undefined)) return "a policy of the recorded decision is not whole";
    if (typeof share === "number" && share < this.#share) this.#share = share;
    if (source === "lease") this.#leases++;
    if (source === "fallback") this.#fallbacks++;
    return { atMs: at as number, head: NO_HEAD, recorded: { takes: recorded, region, allowed, source } };
  }
}

/** A line is written before the answer. */
const LACKED: Readonly<Partial<Record<Needed, string>>> = {
  duration: "how long a request took",
  status: "the status of the answer",
};

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
  if (line.startsWith(BEGIN)) return [line];
  if (!line.includes("decision")) return [];
  const text = line.trim();
  if (text.startsWith(BEGIN)) return [text];
  if (text.startsWith(PRETTY)) return messages([text.slice(PRETTY.length)]);
  // An element of an array: what clients have sent stands behind a name.
  if (text.startsWith(QUOTED)) return messages([parseJson(text.replace(/,$/, "")) ?? BEGIN]);
  const logs = logsOf(text) ?? [];
  return messages(logs.flatMap((one) => (isTable(one) ? (one.message ?? one.Message) : [])));
}

/** An event of a Worker, or the line of one written with line breaks where its messages begin. */
function isEvent(line: string): boolean {
  const text = line.trim();
  return /^"logs": \[/.test(text) || (/"[lL]ogs" *:/.test(text) && logsOf(text) !== undefined);
}

/** The messages of an event. Undefined: the text is no event. */
function logsOf(text: string): readonly unknown[] | undefined {
  if (!text.startsWith("{")) return undefined;
  const event = parseJson(text.replace(/,$/, ""));
  const logs = isTable(event) ? (event.logs ?? event.Logs) : undefined;
  return Array.isArray(logs) ? logs : undefined;
}

function messages(all: readonly unknown[]): string[] {
  return all.filter((one): one is string => typeof one === "string" && one.startsWith(BEGIN));
}

function decisions(count: number): string {
  return count === 1 ? "1 decision" : `${count} decisions`;
}
