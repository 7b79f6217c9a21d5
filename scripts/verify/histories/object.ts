/**
 * Records concurrent calls of the Durable Object in workerd. Meanwhile the object crashes, and the whole of workerd is
 * killed and started again over the same rows.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Agent, request as send } from "undici";
import type { LimitSpec } from "../../../src/kernel/core/algorithms.ts";
import { isConcurrency } from "../../../src/kernel/core/concurrency.ts";
import { Kind } from "../../../src/kernel/core/layout.ts";
import {
  Flag,
  type KeyRequest,
  keysOfRequest,
  type Receipt,
  type TakeReply,
  type TakeRequest,
} from "../../../src/kernel/core/take.ts";
import { type Store, StoreError, type StoreErrorCode } from "../../../src/kernel/store/store.ts";
import { mulberry32 } from "../../../test/support/mulberry32.ts";
import { startCountsWorker } from "../../../test/support/objects/counts-worker.ts";
import type { History } from "./history.ts";
import { createRecorder, recordSteadily } from "./recorder.ts";

const DAY_MS = 86_400_000;

/** Keys that live for the whole history: what they hold has to outlive every restart. */
const LASTING: Readonly<Record<string, readonly LimitSpec[]>> = {
  day: [
    { kind: Kind.weighted, limit: 150, bucketMs: DAY_MS, buckets: 1 },
    { kind: Kind.calendar, limit: 400, window: "month", zone: "Pacific/Apia", firstDay: 15 },
  ],
  // Beyond 200 entries a log lies in several rows.
  log: [{ kind: Kind.log, limit: 400, windowMs: DAY_MS }],
  slots: [{ kind: Kind.concurrency, limit: 12, timeoutMs: DAY_MS }],
};

/** Keys that are replaced by new ones every few hundred operations. Their windows end while they are used. */
const PASSING: Readonly<Record<string, readonly LimitSpec[]>> = {
  weighted: [{ kind: Kind.weighted, limit: 8, bucketMs: 300, buckets: 1 }],
  whole: [
    { kind: Kind.whole, limit: 10, bucketMs: 100, buckets: 4 },
    { kind: Kind.fixedWindow, limit: 7, windowMs: 250 },
  ],
  bucket: [{ kind: Kind.bucket, limit: 40, windowMs: 1_000, burst: 6, maxDelayMs: 0 }],
  leaky: [{ kind: Kind.bucket, limit: 30, windowMs: 1_000, burst: 3, maxDelayMs: 100 }],
  log: [{ kind: Kind.log, limit: 8, windowMs: 400 }],
  slots: [{ kind: Kind.concurrency, limit: 4, timeoutMs: 300 }],
  mixed: [
    { kind: Kind.weighted, limit: 30, bucketMs: 500, buckets: 3 },
    { kind: Kind.log, limit: 12, windowMs: 600 },
    { kind: Kind.concurrency, limit: 5, timeoutMs: DAY_MS },
  ],
  // Half of the operations of the next two touch both.
  left: [{ kind: Kind.fixedWindow, limit: 9, windowMs: 400 }],
  right: [{ kind: Kind.bucket, limit: 20, windowMs: 1_000, burst: 8, maxDelayMs: 0 }],
};
const PASS_AFTER = 700;
const LASTING_PART = 0.25;
/** A process pauses for up to this long after some of its calls: then windows end. */
const PAUSE_MS = 30;
const PLACE = "object";

export interface ObjectRun {
  readonly operations: number;
  readonly processes: number;
  /** How often workerd is killed, and how often the object crashes within it. */
  readonly kills: number;
  readonly crashes: number;
  readonly seed: number;
}

/** What a process has taken, and may give back. */
interface Taken {
  readonly keys: readonly Receipt[];
  readonly slot: number;
}

export function recordObject(run: ObjectRun): Promise<History> {
  return recordSteadily(() => record(run));
}

async function record({ operations, processes, kills, crashes, seed }: ObjectRun): Promise<History | undefined> {
  const folder = mkdtempSync(join(tmpdir(), "headgate-history-"));
  const recorder = createRecorder();
  const random = mulberry32(seed);
  const draw = (below: number) => Math.floor(random() * below);
  let [worker, agent] = [await startCountsWorker(folder), new Agent()];
  let [begun, slots] = [0, 0];
  /** Resolves when workerd is there. */
  let isUp: Promise<void> = Promise.resolve();

  async function call<T>(method: string, ...args: unknown[]): Promise<T> {
    const body = JSON.stringify([{ method, args }]);
    let answer: { readonly reply?: unknown; readonly code?: StoreErrorCode };
    try {
      const response = await send(worker.url, { method: "POST", body, dispatcher: agent });
      [answer] = (await response.body.json()) as [typeof answer];
    } catch {
      throw new StoreError("NETWORK");
    }
    if (answer.code !== undefined) throw new StoreError(answer.code);
    return answer.reply as T;
  }

  const object: Pick<Store, "take" | "reset"> = {
    take: (request) => call<TakeReply>("take", request),
    reset: (keys) => call("reset", keys),
  };

  function drawKeys(): KeyRequest[] {
    const pass = Math.floor(begun / PASS_AFTER);
    const key = (prefix: string, limits: readonly LimitSpec[]): KeyRequest => {
      return { key: prefix, group: 0, cost: random() < 0.1 ? 0 : 1 + draw(3), limits };
    };
    if (random() < LASTING_PART) {
      const names = Object.keys(LASTING);
      const name = names[draw(names.length)]!;
      return [key(`lasting:${name}`, LASTING[name]!)];
    }
    const names = Object.keys(PASSING);
    const name = names[draw(names.length)]!;
    const one = key(`${pass}:${name}`, PASSING[name]!);
    if ((name !== "left" && name !== "right") || random() < 0.5) return [one];
    const other = name === "left" ? "right" : "left";
    // Now and then the second is a policy in shadow.
    return [one, { ...key(`${pass}:${other}`, PASSING[other]!), group: random() < 0.3 ? 1 : 0 }];
  }

  async function live(process: number): Promise<void> {
    const store = recorder.recorded(PLACE, object, () => ({ process }));
    const taken: Taken[] = [];
    while (begun < operations) {
      await isUp;
      begun++;
      await operate(store, taken).catch((error) => {
        if (!(error instanceof StoreError)) throw error;
      });
      if (random() < 0.05) await sleep(draw(PAUSE_MS));
    }
  }

  async function operate(store: Pick<Store, "take" | "reset">, taken: Taken[]): Promise<void> {
    const turn = random();
    if (turn < 0.15 && taken.length > 0) {
      const [{ keys, slot }] = taken.splice(draw(taken.length), 1) as [Taken];
      await store.take({ keys, flag: Flag.giveBack, ...(slot && { slot }) });
      return;
    }
    const keys = drawKeys();
    if (turn < 0.17) return await store.reset(keysOfRequest({ keys, flag: Flag.take }));
    const flag = turn < 0.27 ? Flag.look : turn < 0.31 ? Flag.chargeAnyway : Flag.take;
    const slot = keys.some(({ limits }) => limits.some(isConcurrency)) ? ++slots : 0;
    const request: TakeRequest = { keys, flag, ...(slot && { slot }) };
    const { allowed, charged } = await store.take(request);
    if (flag === Flag.take && allowed) taken.push({ keys: charged, slot });
  }

  async function kill(): Promise<void> {
    const back = Promise.withResolvers<void>();
    isUp = back.promise;
    process.kill(worker.pid, "SIGKILL");
    await worker.stop();
    recorder.died(PLACE);
    await agent.destroy();
    [worker, agent] = [await startCountsWorker(folder), new Agent()];
    back.resolve();
  }

  /** Faults come at fixed numbers of operations, whatever the speed of the machine. */
  async function disturb(): Promise<void> {
    const faults = [...Array(kills).fill(kill), ...Array(crashes).fill(() => call("crash").catch(() => {}))];
    for (let i = faults.length - 1; i > 0; i--) {
      const j = draw(i + 1);
      [faults[i], faults[j]] = [faults[j], faults[i]];
    }
    for (const [i, fault] of faults.entries()) {
      const at = (operations * (i + 1)) / (faults.length + 1);
      while (begun < at) await sleep(1);
      await fault();
    }
  }

  try {
    const disturbed = disturb();
    await Promise.all(Array.from({ length: processes }, (_, process) => live(process)));
    await disturbed;
    // What every key holds in the end.
    const store = recorder.recorded(PLACE, object, () => ({ process: processes }));
    for (const [name, limits] of Object.entries(LASTING)) {
      await store.take({ keys: [{ key: `lasting:${name}`, group: 0, cost: 0, limits }], flag: Flag.look });
    }
    const about = `${begun} operations of ${processes} processes, ${kills} kills, ${crashes} crashes, seed ${seed}`;
    return recorder.end({ promise: "linearizable", about: `Durable Object in workerd: ${about}` });
  } finally {
    await worker.stop();
    await agent.destroy();
    rmSync(folder, { recursive: true, force: true });
  }
}
