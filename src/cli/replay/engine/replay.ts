/** What configurations would have decided over a log. */

import { randomBytes } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { isReserved } from "../../../http/reserved.ts";
import type { LogEntry } from "../log/format.ts";
import type { OpenLog } from "../log/open.ts";
import { Clients } from "./clients.ts";
import { ComparisonRun } from "./comparison.ts";
import { type Configuration, ConfigurationRun } from "./configuration-run.ts";
import { CostsRun } from "./costs.ts";
import { leftOut, replays, unknown, untried } from "./not-compared.ts";
import { Agreement, InstantOrder } from "./recorded.ts";
import { Suggesting } from "./suggest.ts";
import type { Summary } from "./summary.ts";
import { TimeAxis } from "./timeline.ts";

/** What a replay needs of an opened log. */
type ReplayedLog = Pick<OpenLog, "batches" | "carried" | "isRecorded"> & {
  /** They grow while batches are read. */
  readonly facts: Pick<OpenLog["facts"], "bytes" | "files" | "lines"> & { readonly notes: readonly string[] };
};

export interface ReplayInput {
  readonly log: ReplayedLog;
  /** The present one, and perhaps a candidate. */
  readonly configurations: readonly Configuration[];
  /** Suggests numbers that refuse less than this share of requests, 0 to 1. Absent: none. */
  readonly suggest?: number;
  /** Key parts that no request has. */
  readonly absent?: readonly string[];
  /** Whether to count what each consistency would cost. */
  readonly costs?: boolean;
  /** Whether the report shows the keys of clients beside their hashes. */
  readonly showKeys?: boolean;
  /** @param requests until now. */
  onProgress?(requests: number): void;
  /** Its reason is thrown. */
  readonly signal?: AbortSignal;
}

/** How long the replay computes before the process may look at signals and timers, in ms. */
const MAX_TURN_MS = 50;

/** @throws what the log throws, and the reason of `signal`. */
export async function replay(input: ReplayInput): Promise<Summary> {
  const { log, suggest, absent = [], showKeys = false, onProgress, signal } = input;
  const axis = new TimeAxis();
  const clients = new Clients();
  const { carried, isRecorded } = log;
  const secretOfRun = randomBytes(32).toString("hex");
  const options = { carried, isRecorded, absent, axis, clients, secretOfRun, showKeys };
  const runOf = (i: number, leftOut: ReadonlyMap<string, string>) =>
    new ConfigurationRun(input.configurations[i]!, { ...options, recordedBy: policiesOf(0), leftOut });
  const policiesOf = (i: number) => input.configurations[i]!.settings.policies;
  const reported = input.configurations.map((_, i) =>
    runOf(i, isRecorded && i > 0 ? untried(policiesOf(0), policiesOf(i)) : new Map()),
  );
  const [present, candidate] = [reported[0]!, reported[1]];
  const notCompared = leftOut(reported);
  let compared = reported;
  // Chains differ: a policy that is left out may take others with it, in one configuration only.
  for (let more = notCompared; more.size > 0; more = leftOut(compared)) {
    for (const [name, reason] of more) notCompared.set(name, reason);
    compared = compared.map((run, i) =>
      [...notCompared.keys()].some((name) => replays(run, name))
        ? runOf(i, new Map([...run.skipped, ...notCompared]))
        : run,
    );
  }
  const comparison = candidate && new ComparisonRun(compared[0]!, compared[1]!, clients);
  const runs = [...new Set([...reported, ...compared])];
  const suggesting = suggest === undefined ? undefined : new Suggesting(present, suggest, clients);
  const costs = input.costs ? reported.map(() => new CostsRun()) : undefined;
  const agreement = new Agreement();
  let [fromMs, nowMs, requests, reserved] = [0, 0, 0, 0];

  /** @returns work that must end before the next request. Absent: there is none. */
  const decide = (entry: LogEntry): Promise<unknown> | undefined => {
    if (!entry.recorded && isReserved(entry.head.url)) {
      reserved++;
      return undefined;
    }
    if (requests === 0) fromMs = entry.atMs;
    nowMs = Math.max(nowMs, entry.atMs);
    const step = axis.stepOf(nowMs);
    for (const run of runs) run.decide(entry, requests, nowMs, step);
    comparison?.count(entry, nowMs);
    suggesting?.decide(entry, requests, nowMs);
    if (entry.recorded) agreement.count(entry.recorded, present.allowed);
    requests++;
    return costs && Promise.all(costs.map((one, i) => one.take(reported[i]!.takes, reported[i]!.region(), nowMs)));
  };

  const order = isRecorded ? new InstantOrder() : undefined;
  let turnMs = performance.now();
  signal?.throwIfAborted();
  for await (const batch of log.batches(signal)) {
    signal?.throwIfAborted();
    for (const entry of batch) {
      for (const complete of order ? order.add(entry) : [entry]) {
        const work = decide(complete);
        if (work) await work;
      }
    }
    const counting = suggesting ? [...runs, suggesting] : runs;
    for (const one of counting) one.sweep(nowMs);
    clients.sweep((client) => counting.some((one) => one.hasCounts(client)));
    onProgress?.(requests);
    if (performance.now() - turnMs < MAX_TURN_MS) continue;
    await nextTurn();
    turnMs = performance.now();
  }
  signal?.throwIfAborted();
  for (const complete of order?.end() ?? []) await decide(complete);

  const { files, bytes, lines, notes } = log.facts;
  return {
    log: { files, bytes, lines, requests, fromMs, toMs: nowMs },
    configurations: await Promise.all(
      reported.map(async (run, i) => ({ ...run.summary(), ...(costs && { costs: await costs[i]!.summary() }) })),
    ),
    ...(comparison && { comparison: { ...comparison.summary(), unknown: unknown(present, candidate!, notCompared) } }),
    ...(suggesting && { suggestions: suggesting.summary() }),
    notes: [
      ...(showKeys ? [isRecorded ? NO_KEYS : KEYS_SHOWN] : []),
      ...notes,
      ...(reserved > 0 ? [reservedNote(reserved)] : []),
      ...reported.flatMap((run) => run.notes()),
      ...agreement.notes(present.name),
      ...[...notCompared].map(([name, reason]) => `The comparison leaves out the policy ${name}: ${reason}`),
      ...(comparison?.notes() ?? []),
      ...(suggesting?.notes() ?? []),
      ...(costs ? [COSTS] : []),
      ...(costs && reported.some(({ chains }) => chains.size > 0) ? [COSTS_OF_CHAINS] : []),
    ],
  };
}

const KEYS_SHOWN =
  "This report shows the keys of clients as they stand in the log: addresses, tokens, or whatever policies count by. " +
  "Keep it as private as the log.";
const NO_KEYS = "--show-keys shows nothing: recorded lines have the hashes of keys only";

const COSTS =
  "Costs are those of a Redis at 8.00 dollars per million calls, for each policy by itself, and of one isolate in each " +
  "region of the log: more isolates make more calls under leased and shared";

const COSTS_OF_CHAINS = "Costs of a policy with an overflow are those of its whole chain, which one call asks";

function reservedNote(requests: number): string {
  const are =
    requests === 1 ? "1 request of a path under /.headgate/ is" : `${requests} requests of paths under /.headgate/ are`;
  return `${are} left out: the gateway answers such requests itself, and counts none of them`;
}
