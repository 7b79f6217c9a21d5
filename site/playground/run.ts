/**
 * One run of the playground: the code of src/ on a virtual clock and a virtual network. The store is the memory store,
 * which decides by the same core as the script in Redis.
 */

import { tableOf } from "../../src/features/fields.ts";
import { leasesFields } from "../../src/features/leases/fields.ts";
import { LEASES } from "../../src/features/leases/wrap.ts";
import { sharedFields } from "../../src/features/shared/fields.ts";
import { SHARED } from "../../src/features/shared/wrap.ts";
import { parseFields } from "../../src/kernel/config/policy-fields.ts";
import { Flag, type TakeReply, type TakeRequest } from "../../src/kernel/core/take.ts";
import { answeredOf } from "../../src/kernel/limiter/decide.ts";
import { keysFor } from "../../src/kernel/limiter/keys.ts";
import { createBreaker } from "../../src/kernel/place/breaker.ts";
import { createIsolate } from "../../src/kernel/place/isolate.ts";
import { memoryStore } from "../../src/kernel/store/memory.ts";
import { type Store, StoreError } from "../../src/kernel/store/store.ts";
import { mostWithin } from "../../test/support/most-within.ts";
import { mulberry32 } from "../../test/support/mulberry32.ts";
import { type VirtualTime, virtualTime } from "../../test/support/virtual-time.ts";
import { policyInputOf, type Setting } from "./setting.ts";
import { arrivalsOf } from "./traffic.ts";

const WRAPS = [SHARED, LEASES];
const FIELDS = tableOf([leasesFields, sharedFields]);

/** What one request was told. All instants are after the beginning, in ms of true time. */
export interface Told {
  readonly askedMs: number;
  readonly answeredMs: number;
  readonly location: number;
  readonly admitted: boolean;
  /** When it reached the origin, or would: a leaky bucket delays requests. */
  readonly reachedMs: number;
  /** `Retry-After`, in seconds. Absent: it was admitted, or no wait is known. */
  readonly retryAfterS?: number;
  /** Who answered: see `Decision.source`. */
  readonly source: string;
  /** It asks again after a refusal. */
  readonly isRetry: boolean;
}

export interface Outcome {
  /** In the order of their answers. */
  readonly told: readonly Told[];
  readonly admitted: number;
  readonly refused: number;
  /** The most requests that reached the origin in any true window. */
  readonly mostInWindow: number;
  /** Calls of the store. */
  readonly calls: number;
  /** Of the clients that waited as told, how many were admitted then. */
  readonly retriesAdmitted: number;
  readonly retries: number;
}

/** The run begins at the first boundary of its windows after this instant, ms since the epoch. */
const NEAR_MS = 1_800_000_000_000;

/** How long a call may take, ms. */
const BUDGET_MS = 250;

/** @throws {Error} with what is wrong about the setting. @param settle as for `virtualTime`. */
export async function run(
  setting: Setting,
  settle?: () => Promise<void>,
  rest?: () => Promise<void>,
): Promise<Outcome> {
  const parsed = parseFields(FIELDS, [policyInputOf(setting)], "policies");
  if (parsed.mistakes) {
    throw new Error(parsed.mistakes.map(({ path, expected }) => `${path}: expected ${expected}`).join("\n"));
  }
  const [policy] = parsed.value;
  const windowMs = setting.windowS * 1_000;
  const beginMs = Math.ceil(NEAR_MS / windowMs) * windowMs;
  const time = virtualTime(beginMs - windowMs, settle, rest);
  const world = createWorld(time, setting, beginMs);
  const isolates = setting.locations.map((_, location) => world.isolate(location));
  const applied = { policy: policy!, kind: "global", partition: "k", cost: 1 };
  const more = WRAPS.flatMap(({ ask }) => ask ?? []);
  const keys = keysFor(undefined, more)([applied], () => "local");

  const told: Told[] = [];
  const ask = async (location: number, isRetry: boolean): Promise<void> => {
    const askedMs = time.nowMs() - beginMs;
    const background = { waitUntil() {} };
    const asked = { lines: keys, flag: Flag.take, slot: 0 };
    const answer = await isolates[location]![policy!.consistency].take(asked, { background });
    const { decision, atMs } = answeredOf(keys, Flag.take, answer);
    const answeredMs = time.nowMs() - beginMs;
    // The store decides by its clock, which is true. The isolate decides when it answers.
    const decidedMs = decision.source === "redis" ? atMs! - beginMs : answeredMs;
    const reachedMs = decidedMs + (decision.allowed ? (decision.delayMs ?? 0) : 0);
    const retryAfterS = decision.retryAfterMs && Math.ceil(decision.retryAfterMs / 1_000);
    told.push({
      ...{ askedMs, answeredMs, location, isRetry, reachedMs },
      ...{ admitted: decision.allowed, source: decision.source },
      ...(retryAfterS && { retryAfterS }),
    });
    if (setting.retries && !isRetry && retryAfterS) {
      time.at(time.nowMs() + retryAfterS * 1_000, () => void ask(location, true));
    }
  };
  for (const { afterMs, location } of arrivalsOf(setting)) time.at(beginMs + afterMs, () => void ask(location, false));
  await time.runUntil(beginMs + (setting.windows + 2) * windowMs);

  const reached = told.filter(({ admitted }) => admitted).map(({ reachedMs }) => reachedMs);
  const retries = told.filter(({ isRetry }) => isRetry);
  return {
    told,
    admitted: reached.length,
    refused: told.length - reached.length,
    mostInWindow: mostWithin(
      reached.toSorted((a, b) => a - b),
      windowMs,
    ),
    calls: world.calls(),
    retries: retries.length,
    retriesAdmitted: retries.filter(({ admitted }) => admitted).length,
  };
}

/** The store, and an isolate at each location with its own clock and way to the store. */
function createWorld(time: VirtualTime, setting: Setting, beginMs: number) {
  const memory = memoryStore();
  const random = mulberry32(setting.seed);
  let calls = 0;
  const isAway = () => {
    const afterS = (time.nowMs() - beginMs) / 1_000;
    return afterS >= setting.outageFromS && afterS < setting.outageToS;
  };

  return {
    calls: () => calls,
    isolate(location: number) {
      const { roundTripMs, clockMs } = setting.locations[location]!;
      const oneWay = async () => {
        if (roundTripMs > 0) await time.sleep(roundTripMs / 2);
      };
      const breaker = createBreaker(BUDGET_MS, random);
      async function call(request: TakeRequest): Promise<TakeReply> {
        calls++;
        await oneWay();
        if (isAway()) throw new StoreError("OFFLINE");
        const reply = await memory.take(request, Math.floor(time.nowMs()));
        await oneWay();
        return reply;
      }
      const store: Store = {
        kind: "redis",
        keySecret: "playground",
        async take(request) {
          const number = breaker.start(time.nowMs());
          if (number === undefined) throw new StoreError("OPEN");
          let hasFailed = true;
          try {
            const reply = await call(request);
            hasFailed = false;
            return reply;
          } finally {
            breaker.end(number, hasFailed, time.nowMs());
          }
        },
        reset: memory.reset,
        ping: memory.ping,
      };
      const timing = { nowMs: () => Math.floor(time.nowMs() + clockMs), sleep: time.sleep };
      const { strict, wrapped } = createIsolate(store, timing, { random, wraps: WRAPS });
      return { strict, leased: wrapped(LEASES), shared: wrapped(SHARED) };
    },
  };
}
