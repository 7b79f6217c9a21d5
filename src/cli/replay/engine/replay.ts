/** What configurations would have decided over a log: they run side by side, on one clock. */

import { setImmediate as nextTurn } from "node:timers/promises";
import { isReserved } from "../../../kernel/http/reserved.ts";
import type { LoggedRequest } from "../log/format.ts";
import type { OpenLog } from "../log/open.ts";
import { LogClock } from "./limiter.ts";
import { skippedOf } from "./needs.ts";
import { type Configuration, ConfigurationRun } from "./run.ts";
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
  /** @param requests until now. */
  onProgress?(requests: number): void;
}

/** What a replay has found. `--json` prints it as it is. Instants are ms since the epoch, shares are 0 to 1. */
export type Summary = Awaited<ReturnType<typeof replay>>;

/** @throws what the log throws. */
export async function replay({ log, configurations, suggest, onProgress }: ReplayInput) {
  const clock = new LogClock();
  const all = configurations.map(({ settings }) => settings);
  const options = { log, clock, maxKeys: MAX_KEYS / all.length, skipped: skippedOf(all, log) };
  const present = new ConfigurationRun(configurations[0]!, options);
  const candidates = configurations.slice(1).map((one) => new ConfigurationRun(one, { ...options, present }));
  const runs = [present, ...candidates];
  const suggesting = suggest === undefined ? undefined : new Suggesting(present, clock);
  const timeline = { fromMs: 0, stepMs: 1_000, requests: [] as number[], refused: runs.map((): number[] => []) };
  /** A policy that is not replayed has refused it: it charged nothing. */
  const isElsewhere = ({ recorded }: LoggedRequest) =>
    recorded?.allowed === false && recorded.takes.some(({ policy, refused }) => refused && options.skipped.has(policy));
  let [fromMs, requests, differing, late, elsewhere, reserved] = [0, 0, 0, 0, 0, 0];
  let turnMs = performance.now();

  function countStep(): void {
    const counts = [timeline.requests, ...timeline.refused];
    if (requests === 1) timeline.fromMs = Math.floor(clock.nowMs / 1_000) * 1_000;
    while (clock.nowMs - timeline.fromMs >= MAX_STEPS * timeline.stepMs) {
      timeline.stepMs *= 2;
      counts.forEach(halve);
    }
    const step = Math.floor((clock.nowMs - timeline.fromMs) / timeline.stepMs);
    for (const one of counts) while (one.length <= step) one.push(0);
    timeline.requests[step]!++;
    for (const [i, { allowed }] of runs.entries()) if (!allowed) timeline.refused[i]![step]!++;
  }

  async function decide(entry: LoggedRequest): Promise<void> {
    // It counts where it was read.
    if (entry.atMs < clock.nowMs) late++;
    await clock.runUntil(Math.max(clock.nowMs, entry.atMs));
    if (requests === 0) fromMs = clock.nowMs;
    requests++;
    for (const run of runs) await run.decide(entry);
    await suggesting?.decide(entry);
    countStep();
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

  const { files, bytes, lines, incomplete } = log.facts;
  const notes = [...log.facts.notes, ...incomplete.map((text) => `The log is incomplete. ${text}`)];
  notes.push(...runs.flatMap((run) => run.notes()));
  if (reserved > 0) notes.push(`${reserved} requests of paths under /.headgate/ are left out: the gateway counts none`);
  if (elsewhere > 0) notes.push(`${elsewhere} requests are left out: a policy that is not replayed has refused them`);
  if (late > 0) notes.push(`${late} requests stood far behind later ones: they count where they were read`);
  if (log.isRecorded)
    notes.push(`${present.name}: ${differing} of ${requests} decisions differ from the recorded ones`);
  if (clock.forgotten > 0)
    notes.push(
      `up to ${clock.forgotten} keys were forgotten whose counts may have mattered: too little may be refused`,
    );
  return {
    log: { files, bytes, lines, requests, fromMs, toMs: clock.nowMs, incomplete },
    configurations: runs.map((run) => run.summary()),
    /** Empty without `--suggest`. */
    suggestions: suggesting?.summary(suggest!) ?? [],
    /** Requests over time, in equal steps, and for each configuration those that it refuses. */
    timeline,
    /** What the reader must know: what the log lacks, what was forgotten, how exact the numbers are. */
    notes,
  };
}

/** Each two steps become one. */
function halve(counts: number[]): void {
  for (const i of counts.keys()) counts[i] = (counts[2 * i] ?? 0) + (counts[2 * i + 1] ?? 0);
  counts.length = Math.ceil(counts.length / 2);
}
