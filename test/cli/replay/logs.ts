// Logs in memory, and what is replayed over them.

import { type ReplayInput, replay } from "../../../src/cli/replay/engine/replay.ts";
import type { Configuration } from "../../../src/cli/replay/engine/run.ts";
import type { LoggedRequest, RecordedTake } from "../../../src/cli/replay/log/format.ts";
import { LogFacts } from "../../../src/cli/replay/log/open.ts";
import { type Bindings, parseSettings } from "../../../src/kernel/config/settings.ts";

/** An instant on a whole minute. */
export const START_MS = 1_700_000_040_000;

export function configuration(policies: readonly object[], more: Bindings = {}, name = "wrangler.toml"): Configuration {
  const parsed = parseSettings({ POLICIES: policies, ...more });
  if (parsed.mistakes) throw new Error(JSON.stringify(parsed.mistakes));
  return { name, settings: parsed.value };
}

/** @param lacking what the log does not have, with the field that it would need. */
export function logOf(
  entries: readonly LoggedRequest[],
  lacking: Readonly<Record<string, string>> = {},
): ReplayInput["log"] {
  return {
    lacks: (needed) => lacking[needed],
    isRecorded: entries.some(({ recorded }) => recorded),
    facts: new LogFacts(),
    async *batches() {
      yield entries;
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
export function requestAt(afterMs: number, options: RequestOptions = {}): LoggedRequest {
  const { method = "GET", url = "https://api.example.com/v1/things?page=2", ip = "192.0.2.1", cf, ...more } = options;
  const headers = new Headers({ "CF-Connecting-IP": ip, ...options.headers });
  const { durationMs, status } = more;
  return { atMs: START_MS + afterMs, head: { method, url, headers, cf }, durationMs, status };
}

/** Requests of one client, 1 s apart. */
export function requests(count: number, ip = "192.0.2.1"): LoggedRequest[] {
  return Array.from({ length: count }, (_, i) => requestAt(i * 1_000, { ip }));
}

/** A line of a gateway. */
export function recordedAt(
  afterMs: number,
  takes: readonly (Partial<RecordedTake> & { readonly policy: string })[],
  allowed = true,
): LoggedRequest {
  const all = takes.map((take): RecordedTake => {
    return { kind: "ip", partition: "A", cost: 1, plan: undefined, once: undefined, refused: false, ...take };
  });
  const head = { method: "", url: "", headers: new Headers() };
  return { atMs: START_MS + afterMs, head, recorded: { takes: all, region: "eu", allowed } };
}

/** Replays each list of policies as a configuration over the log. */
export function run(entries: readonly LoggedRequest[], ...all: readonly (readonly object[])[]) {
  const configurations = all.map((policies, i) => configuration(policies, {}, `${i}.toml`));
  return replay({ log: logOf(entries), configurations });
}
