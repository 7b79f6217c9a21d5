/** What configurations would have decided over a log: they run side by side, on one clock. */

import { setImmediate as nextTurn } from "node:timers/promises";
import { isReserved } from "../../../http/reserved.ts";
import type { LogEntry } from "../log/format.ts";
import type { OpenLog } from "../log/open.ts";
import { Clients } from "./clients.ts";
import { Comparison } from "./compare.ts";
import { LogClock } from "./limiter.ts";
import { addChains, skippedOf, untried } from "./needs.ts";
import { type Configuration, ConfigurationRun, forgottenNote } from "./run.ts";
import { Ladder } from "./suggest.ts";

/** Keys of all configurations together: up to 1 GiB. */
const MAX_KEYS = 1_000_000;
/** How long the replay computes before the process may do anything else, in ms. */
const MAX_TURN_MS = 50;

export interface ReplayInput {
  readonly log: OpenLog;
  /** The present one, and candidates. */
  readonly configurations: readonly Configuration[];
  /** Suggests numbers that refuse less than this share of requests, 0 to 1. Absent: none. */
  readonly suggest?: number | undefined;
  /** Key parts that no request has. */
  readonly absent?: readonly string[];
  /** @param requests until now. */
  onProgress?(requests: number): void;
}

/** What a replay has found. `--json` prints it as it is. Instants are ms since the epoch, shares are 0 to 1. */
export type Summary = Awaited<ReturnType<typeof replay>>;

/** @throws what the log throws. */
export async function replay(input: ReplayInput) {
  const { log, configurations, suggest, absent = [], onProgress } = input;
  const clock = new LogClock();
  const clients = new Clients();
  const skipped = skippedOfAll(configurations, log, absent);
  const maxKeys = Math.ceil(MAX_KEYS / configurations.length);
  const runs = configurations.map((one) => {
    return new ConfigurationRun(one, { log, clock, clients, maxKeys, skipped });
  });
  const [present, ...candidates] = runs as [ConfigurationRun, ...ConfigurationRun[]];
  const comparisons = candidates.map((candidate) => new Comparison(present, candidate));
  const ladder = suggest === undefined ? undefined : new Ladder(present, suggest, clock);
  const timeline = new Timeline(runs.length);
  /** By who answered recorded lines: how many, and how many the present configuration decides otherwise. */
  const recorded = new Map<string, [lines: number, differing: number]>();
  let [fromMs, requests, reserved, turnMs] = [0, 0, 0, performance.now()];

  async function decide(entry: LogEntry): Promise<void> {
    await clock.runUntil(Math.max(clock.nowMs, entry.atMs));
    if (requests === 0) fromMs = entry.atMs;
    requests++;
    for (const run of runs) await run.decide(entry);
    timeline.count(runs, clock.nowMs);
    for (const one of comparisons) one.count();
    if (entry.recorded) {
      const { source, allowed } = entry.recorded;
      const [lines, differing] = recorded.get(source) ?? [0, 0];
      recorded.set(source, [lines + 1, differing + Number(allowed !== present.allowed)]);
    }
    await ladder?.decide(entry);
  }

  for await (const batch of log.batches()) {
    for (const entry of batch) {
      if (!entry.recorded && isReserved(entry.head.url)) reserved++;
      else await decide(entry);
      if (performance.now() - turnMs < MAX_TURN_MS) continue;
      onProgress?.(requests);
      await nextTurn();
      turnMs = performance.now();
    }
  }

  const { bytes, lines, notes } = log.facts;
  const all = [...notes];
  if (reserved > 0) all.push(`${reserved} requests of paths under /.headgate/ are left out: the gateway counts none`);
  all.push(...runs.flatMap((run) => run.notes()));
  for (const [source, [lines, differing]] of recorded) {
    all.push(`${present.name}: ${differing} of ${lines} decisions that were recorded with the source ${source} differ`);
  }
  if (clients.hasMore) all.push("The log has more clients than are counted: numbers of clients are too small.");
  if (ladder && ladder.forgotten > 0) all.push(`--suggest: ${forgottenNote(ladder.forgotten)}`);
  return {
    log: { files: log.files, bytes, lines, requests, fromMs, toMs: clock.nowMs },
    configurations: runs.map((run) => run.summary()),
    /** One for each candidate. */
    comparisons: comparisons.map((one) => one.summary()),
    /** Empty without `--suggest`. */
    suggestions: ladder?.summary() ?? [],
    /** Requests over time, in equal steps: for each configuration those admitted and those refused. */
    timeline: timeline.summary(),
    /** What the reader must know: what the log lacks, what was forgotten, how exact the numbers are. */
    notes: all,
  };
}

/**
 * A policy that one configuration cannot replay is left out of all: in a comparison it would seem to admit everything.
 */
function skippedOfAll(configurations: readonly Configuration[], log: OpenLog, absent: readonly string[]) {
  const skipped = new Map<string, string>();
  const present = configurations[0]!.settings;
  for (const { settings } of configurations) {
    const reasons = skippedOf(settings, log, absent);
    const changed = log.isRecorded ? untried(present.policies, settings.policies) : [];
    for (const [name, reason] of [...reasons, ...changed]) if (!skipped.has(name)) skipped.set(name, reason);
  }
  for (const { settings } of configurations) addChains(skipped, settings.policies);
  return skipped;
}

const MAX_STEPS = 240;

/** Requests over time, in a bounded number of steps: when the log grows longer, the steps do. */
class Timeline {
  #fromMs: number | undefined;
  #stepMs = 1_000;
  readonly #lines: { admitted: number[]; refused: number[] }[];

  constructor(configurations: number) {
    this.#lines = Array.from({ length: configurations }, () => ({ admitted: [], refused: [] }));
  }

  count(runs: readonly ConfigurationRun[], nowMs: number): void {
    this.#fromMs ??= Math.floor(nowMs / 1_000) * 1_000;
    while (nowMs - this.#fromMs >= MAX_STEPS * this.#stepMs) {
      this.#stepMs *= 2;
      for (const line of this.#lines)
        Object.assign(line, { admitted: halved(line.admitted), refused: halved(line.refused) });
    }
    const step = Math.floor((nowMs - this.#fromMs) / this.#stepMs);
    for (const [i, { allowed }] of runs.entries()) {
      const { admitted, refused } = this.#lines[i]!;
      while (admitted.length <= step) refused[admitted.push(0) - 1] = 0;
      (allowed ? admitted : refused)[step]!++;
    }
  }

  summary() {
    return { fromMs: this.#fromMs ?? 0, stepMs: this.#stepMs, configurations: this.#lines };
  }
}

/** Each two steps become one. */
function halved(counts: readonly number[]): number[] {
  return Array.from({ length: Math.ceil(counts.length / 2) }, (_, i) => counts[2 * i]! + (counts[2 * i + 1] ?? 0));
}
