/** What configurations would have decided over a log: they run side by side, on one clock. */

import { setImmediate as nextTurn } from "node:timers/promises";
import { isReserved } from "../../../http/reserved.ts";
import type { LogEntry } from "../log/format.ts";
import type { OpenLog } from "../log/open.ts";
import { Comparison } from "./compare.ts";
import { LogClock } from "./limiter.ts";
import { skippedOf } from "./needs.ts";
import { type Configuration, ConfigurationRun, forgottenNote } from "./run.ts";
import { Suggesting } from "./suggest.ts";

/** Keys of all configurations together: up to 1 GiB. */
const MAX_KEYS = 1_000_000;
/** How long the replay computes before the process may do anything else, in ms. */
const MAX_TURN_MS = 100;
/** Of the time line. When the log grows longer, the steps do. */
const MAX_STEPS = 240;

export interface ReplayInput {
  readonly log: OpenLog;
  /** The present one, and candidates. */
  readonly configurations: readonly Configuration[];
  /** Suggests numbers that refuse less than this share of requests, 0 to 1. Undefined: none. */
  readonly suggest?: number | undefined;
  /** Key parts that no request has. */
  readonly absent?: readonly string[] | undefined;
  /** @param requests until now. */
  onProgress?(requests: number): void;
}

/** What a replay has found. `--json` prints it as it is. Instants are ms since the epoch, shares are 0 to 1. */
export type Summary = Awaited<ReturnType<typeof replay>>;

/** @throws what the log throws. */
export async function replay({ log, configurations, suggest, absent = [], onProgress }: ReplayInput) {
  const clock = new LogClock();
  const all = configurations.map(({ settings }) => settings);
  const options = { log, clock, maxKeys: MAX_KEYS / all.length, skipped: skippedOf(all, log, absent) };
  const runs = configurations.map((one) => new ConfigurationRun(one, options));
  const [present, ...candidates] = runs as [ConfigurationRun, ...ConfigurationRun[]];
  const comparisons = candidates.map((candidate) => new Comparison(present, candidate));
  const suggesting = suggest === undefined ? undefined : new Suggesting(present, suggest, clock);
  const timeline = { fromMs: 0, stepMs: 1_000, configurations: runs.map((): Steps => ({ admitted: [], refused: [] })) };
  /** A policy that is not replayed has refused it: it charged nothing. */
  const isElsewhere = ({ recorded }: LogEntry) =>
    recorded?.allowed === false && recorded.takes.some(({ policy, refused }) => refused && options.skipped.has(policy));
  let [fromMs, requests, differing, late, elsewhere, reserved] = [0, 0, 0, 0, 0, 0];
  let turnMs = performance.now();

  function countStep(): void {
    if (requests === 1) timeline.fromMs = Math.floor(clock.nowMs / 1_000) * 1_000;
    while (clock.nowMs - timeline.fromMs >= MAX_STEPS * timeline.stepMs) {
      timeline.stepMs *= 2;
      for (const { admitted, refused } of timeline.configurations) for (const one of [admitted, refused]) halve(one);
    }
    const step = Math.floor((clock.nowMs - timeline.fromMs) / timeline.stepMs);
    for (const [i, { admitted, refused }] of timeline.configurations.entries()) {
      while (admitted.length <= step) {
        admitted.push(0);
        refused.push(0);
      }
      const counts = runs[i]!.allowed ? admitted : refused;
      counts[step]!++;
    }
  }

  async function decide(entry: LogEntry): Promise<void> {
    // It counts where it was read.
    if (entry.atMs < clock.nowMs) late++;
    await clock.runUntil(Math.max(clock.nowMs, entry.atMs));
    if (requests === 0) fromMs = clock.nowMs;
    requests++;
    for (const run of runs) await run.decide(entry);
    await suggesting?.decide(entry);
    countStep();
    for (const one of comparisons) one.count();
    if (entry.recorded && entry.recorded.allowed !== present.allowed) differing++;
  }

  for await (const batch of log.batches()) {
    for (const entry of batch) {
      if (!entry.recorded && isReserved(entry.head.url)) reserved++;
      else if (isElsewhere(entry)) elsewhere++;
      else await decide(entry);
      if (performance.now() - turnMs < MAX_TURN_MS) continue;
      onProgress?.(requests);
      await nextTurn();
      turnMs = performance.now();
    }
  }

  const notes = [...log.facts.notes, ...runs.flatMap((run) => run.notes())];
  if (reserved > 0) notes.push(`${reserved} requests of paths under /.headgate/ are left out: the gateway counts none`);
  if (elsewhere > 0) notes.push(`${elsewhere} requests are left out: a policy that is not replayed has refused them`);
  if (late > 0) notes.push(`${late} requests stood far behind later ones: they count where they were read`);
  if (log.isRecorded)
    notes.push(`${present.name}: ${differing} of ${requests} decisions differ from the recorded ones`);
  if (suggesting && suggesting.forgotten > 0) notes.push(`--suggest: ${forgottenNote(suggesting.forgotten)}`);
  const { files, bytes, lines } = log.facts;
  return {
    log: { files, bytes, lines, requests, fromMs, toMs: clock.nowMs },
    configurations: runs.map((run) => run.summary()),
    /** One for each candidate. */
    comparisons: comparisons.map((one) => one.summary()),
    /** Empty without `--suggest`. */
    suggestions: suggesting?.summary() ?? [],
    /** Requests over time, in equal steps: for each configuration those admitted and those refused. */
    timeline,
    /** What the reader must know: what the log lacks, what was forgotten, how exact the numbers are. */
    notes,
  };
}

interface Steps {
  readonly admitted: number[];
  readonly refused: number[];
}

/** Each two steps become one. */
function halve(counts: number[]): void {
  for (const i of counts.keys()) counts[i] = (counts[2 * i] ?? 0) + (counts[2 * i + 1] ?? 0);
  counts.length = Math.ceil(counts.length / 2);
}
