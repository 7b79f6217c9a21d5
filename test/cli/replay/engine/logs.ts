// Logs in memory, and what is replayed over them, for tests of the engine.

import { Clients } from "../../../../src/cli/replay/engine/clients.ts";
import type { Configuration, RunOptions } from "../../../../src/cli/replay/engine/configuration-run.ts";
import { type ReplayInput, replay } from "../../../../src/cli/replay/engine/replay.ts";
import { TimeAxis } from "../../../../src/cli/replay/engine/timeline.ts";
import type { LogEntry, Needed, RecordedTake } from "../../../../src/cli/replay/log/format.ts";
import { type Bindings, parseSettings } from "../../../../src/config/settings.ts";
import { partitionHasher } from "../../../../src/partition/hash.ts";

export const SECRET = "a secret for the tests of replay";

/** An instant on a whole minute. */
export const START_MS = 1_700_000_040_000;

export function configuration(policies: readonly object[], more: Bindings = {}, name = "wrangler.toml"): Configuration {
  const parsed = parseSettings({ POLICIES: policies, KEY_SECRET: SECRET, ...more });
  if (parsed.mistakes) throw new Error(JSON.stringify(parsed.mistakes));
  return { name, settings: parsed.value };
}

/** A policy of 10 requests a minute. */
export const API = { name: "api", limits: [{ limit: 10, window: "1m" }] };

/** The name of a client in the report. */
export const hashOf = (ip: string) => partitionHasher(SECRET, "")({ kind: "ip", values: [ip] });

/** What one configuration needs beside itself to run over a log that lacks nothing. */
export const runOptions = (clients = new Clients()): RunOptions => ({
  carried: { lacks: () => undefined },
  isRecorded: false,
  absent: [],
  axis: new TimeAxis(),
  clients,
  secretOfRun: "",
});

export interface LogOptions {
  /** What the log does not have, with the field that it would need. */
  readonly lacking?: Partial<Record<Needed, string>>;
  readonly isRecorded?: boolean;
  readonly batchSize?: number;
}

export function logOf(entries: readonly LogEntry[], options: LogOptions = {}): ReplayInput["log"] {
  const { lacking = {}, isRecorded = false, batchSize = 100 } = options;
  return {
    carried: { lacks: (needed) => lacking[needed] },
    isRecorded,
    facts: { files: 1, bytes: 1_000, lines: entries.length, notes: [] },
    async *batches() {
      for (let i = 0; i < entries.length; i += batchSize) yield entries.slice(i, i + batchSize);
    },
  };
}

export interface RequestOptions {
  readonly method?: string;
  readonly url?: string;
  readonly ip?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly cf?: object;
  readonly durationMs?: number;
  readonly status?: number;
}

/** @param afterMs since `START_MS`. */
export function requestAt(afterMs: number, options: RequestOptions = {}): LogEntry {
  const {
    method = "GET",
    url = "https://api.example.com/v1/things?page=2",
    ip = "192.0.2.1",
    durationMs,
    status,
  } = options;
  const headers = new Headers({ "CF-Connecting-IP": ip, ...options.headers });
  const head = { method, url, headers, cf: options.cf };
  const known = { ...(durationMs !== undefined && { durationMs }), ...(status !== undefined && { status }) };
  return { atMs: START_MS + afterMs, head, ...known };
}

/** Requests of one client, 1 s apart. */
export function requests(count: number, ip: string, beginMs = 0): LogEntry[] {
  return Array.from({ length: count }, (_, i) => requestAt(beginMs + i * 1_000, { ip }));
}

export interface RecordedOptions {
  readonly allowed?: boolean;
  readonly source?: string;
  readonly region?: string;
}

/** A line of a gateway. */
export function recordedAt(
  afterMs: number,
  takes: readonly (Partial<RecordedTake> & { readonly policy: string })[],
  { allowed = true, source = "redis", region = "eu" }: RecordedOptions = {},
): LogEntry {
  const all = takes.map((take) => ({ kind: "ip", partition: "AAAAAAAAAAAAAAAAAAAAAA", cost: 1, ...take }));
  const head = { method: "", url: "", headers: new Headers() };
  return { atMs: START_MS + afterMs, head, recorded: { takes: all, region, allowed, source } };
}

/** Replays these policies over the log. */
export function run(
  entries: readonly LogEntry[],
  policies: readonly object[],
  { log, ...input }: Partial<Omit<ReplayInput, "log">> & { readonly log?: LogOptions } = {},
) {
  return replay({ log: logOf(entries, log), configurations: [configuration(policies)], ...input });
}
