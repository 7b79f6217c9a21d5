// Isolates, one store, and outages of every kind between them, in virtual time. It returns what each request was told,
// and whether all admissions keep the promises of docs/failure-modes.md.

import type { LimitInput } from "../../../src/kernel/config/policy-input.ts";
import type { LimitSpec } from "../../../src/kernel/core/algorithms.ts";
import { isConcurrency } from "../../../src/kernel/core/concurrency.ts";
import type { Decision } from "../../../src/kernel/core/decision.ts";
import { Flag, type TakeRequest } from "../../../src/kernel/core/take.ts";
import { withIsolate } from "../../../src/kernel/place/isolate.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { type Store, StoreError } from "../../../src/kernel/store/store.ts";
import type { Limiter } from "../../../src/limiter.ts";
import { createLimiter } from "../../support/limiter.ts";
import { virtualTime } from "../../support/virtual-time.ts";
import { createLedger, type Repayment } from "./ledger.ts";
import { createInFlight } from "./requests-in-flight.ts";

/**
 * Half a second after a whole second, so that a clock that is slightly off sees the same bucket. An isolate knows the
 * store's clock to within a round trip, so decisions also lie whole seconds apart: every call takes the same time.
 */
const START_MS = 1_800_000_000_500;
const END_MS = START_MS + 1e9;
/** The delay to the store, and again back, in ms. */
const DELAY_MS = 7;
const SECOND_MS = 1_000;

/**
 * What happens to a call. `known`: the isolate knows that it did not run. The isolate does not know whether the others
 * ran: `ran` did, `lost` did not.
 */
export type Fault = "known" | "ran" | "lost";

export type Op =
  | { readonly do: "take"; readonly isolate: number; readonly cost: number }
  | { readonly do: "release" | "renew"; readonly hold: number }
  | { readonly do: "wait"; readonly seconds: number };

/** A phase: the faults between the isolates and the store, and the requests during the phase. */
export interface Phase {
  /** The fault of each isolate. undefined: the store answers its calls. */
  readonly faults: readonly (Fault | undefined)[];
  /** The fault of repayments while the store answers other calls. */
  readonly repayments: Fault | undefined;
  readonly ops: readonly Op[];
}

export interface Story {
  readonly limits: readonly LimitInput[];
  /** How far the store's clock is ahead of the isolates' clocks. */
  readonly clockMs: number;
  readonly phases: readonly Phase[];
}

export interface Told {
  readonly answers: readonly { readonly decision: Decision; readonly isWithin: boolean }[];
  readonly repayments: readonly Repayment[];
  /** What remains after everything is released: first at the store, then in each isolate without the store. */
  readonly released: readonly Decision[];
  /** Slots in the store that only their timeout frees. */
  readonly abandoned: number;
  /** The same, after everything has timed out too. */
  readonly atLast: readonly Decision[];
}

/** Tells a story. Until it ends, Date.now() is the virtual clock. */
export async function tellStory(story: Story): Promise<Told> {
  const time = virtualTime(START_MS);
  const realNow = Date.now;
  Date.now = () => Math.floor(time.nowMs());
  try {
    return await tell(story, time);
  } finally {
    Date.now = realNow;
  }
}

async function tell({ limits, clockMs, phases }: Story, time: ReturnType<typeof virtualTime>): Promise<Told> {
  const memory = memoryStore();
  const storeNow = () => Date.now() + clockMs;
  const faults: (Fault | undefined)[] = phases[0]!.faults.map(() => "lost");
  let repaymentFault: Fault | undefined;
  let hasBegun = false;

  const limiters = faults.map((_, isolate): Limiter => {
    const store = withIsolate(linkOf(isolate), { nowMs: Date.now, sleep: time.sleep });
    return createLimiter({ policies: [{ name: "p", key: ["global"], limits }], store });
  });
  const specs: readonly LimitSpec[] = limiters[0]!.policies[0]!.limits;
  const units = specs.filter((limit) => !isConcurrency(limit));
  const slots = specs.filter((limit) => "timeoutMs" in limit);
  const longestMs = Math.max(0, ...units.map(spanMs));
  const ledger = createLedger(units, faults.length, longestMs);
  const inFlight = createInFlight(slots, (isolate) => [undefined, "ran"].includes(faults[isolate]));
  const answers: Told["answers"][number][] = [];

  function linkOf(isolate: number): Store {
    return {
      kind: "redis",
      keySecret: "token",
      async take(request) {
        const isRepayment = isRepaid(request);
        const fault = faults[isolate] ?? (isRepayment ? repaymentFault : undefined);
        if (fault === "known" || fault === "lost") {
          if (hasBegun) await time.sleep(2 * DELAY_MS);
          if (fault === "known") throw new StoreError("OPEN");
          if (isRepayment) ledger.lost(isolate);
          throw new StoreError("TIMEOUT");
        }
        await time.sleep(DELAY_MS);
        const reply = await memory.take(request, storeNow());
        if (isRepayment) ledger.repaid(isolate, request.keys[0]!.cost, storeNow(), fault !== "ran");
        await time.sleep(DELAY_MS);
        if (fault === "ran") {
          if (request.flag === Flag.take && reply.allowed) inFlight.abandon();
          throw new StoreError("TIMEOUT");
        }
        if (!request.keys.every((key) => key.limits.every(isConcurrency))) ledger.heard(isolate);
        return reply;
      },
      reset: (keys) => memory.reset(keys),
      ping: () => memory.ping(),
    };
  }

  async function takeOne(isolate: number, cost: number): Promise<void> {
    const fault = faults[isolate];
    const startMs = storeNow();
    const isOwing = ledger.isOwing(isolate);
    const works: Promise<unknown>[] = [];
    const background = { waitUntil: (work: Promise<unknown>) => void works.push(work) };
    const decision = await limiters[isolate]!.take("p", { cost, background });
    const atMs = storeNow();
    await Promise.all(works);
    const isLocal = decision.source === "fallback";
    // The store decides about this request before it hears of the isolate's debts.
    const isEarly = isOwing && !isLocal;
    const hasRoom = !decision.allowed || isEarly || ledger.hasRoom(cost, atMs);
    if (decision.allowed) {
      const missed = fault === "known" ? "owed" : "unknown";
      ledger.admit(isolate, cost, atMs, isLocal ? missed : isEarly ? "forgiven" : "counted");
    }
    if (decision.hold) inFlight.add(decision.hold, isolate, isLocal, startMs);
    answers.push({ decision, isWithin: hasRoom && inFlight.isWithin(atMs) });
  }

  async function run(op: Op): Promise<void> {
    if (op.do === "wait") await time.sleep(op.seconds * SECOND_MS);
    else if (op.do === "take") await takeOne(op.isolate, op.cost);
    else if (op.do === "release") await inFlight.release(op.hold);
    else await inFlight.renew(op.hold, storeNow());
    const late = (time.nowMs() - START_MS) % SECOND_MS;
    if (late > 0) await time.sleep(SECOND_MS - late);
  }

  async function everything(): Promise<Pick<Told, "released" | "atLast">> {
    hasBegun = true;
    if (clockMs !== 0) {
      // An isolate without a reply goes by its own clock.
      faults.fill(undefined);
      for (const isolate of faults.keys()) await run({ do: "take", isolate, cost: 0 });
    }
    for (const phase of phases) {
      faults.splice(0, faults.length, ...phase.faults);
      repaymentFault = phase.repayments;
      for (const op of phase.ops) await run(op);
    }
    faults.fill(undefined);
    repaymentFault = undefined;
    for (const isolate of faults.keys()) await run({ do: "take", isolate, cost: 1 });
    while (inFlight.size > 0) await inFlight.release(0);
    // With each decision an isolate gives back five of the slots that it could not give back before. These decisions
    // follow one another at once, so that no slot frees itself meanwhile.
    const decisions = phases.reduce((sum, { ops }) => sum + ops.length, 0) / 5;
    for (let made = 0; made < decisions; made++) for (const isolate of faults.keys()) await takeOne(isolate, 0);
    const released = await lookEverywhere();
    await time.sleep(Math.max(5 * longestMs, ...slots.map(({ timeoutMs }) => timeoutMs)) + SECOND_MS);
    return { released, atLast: await lookEverywhere() };
  }

  async function lookEverywhere(): Promise<Decision[]> {
    faults.fill(undefined);
    const looks = [await limiters[0]!.peek("p")];
    faults.fill("lost");
    for (const limiter of limiters) looks.push(await limiter.peek("p"));
    return looks;
  }

  // Hash the keys now: hashing does not run in virtual time.
  for (const limiter of limiters) await limiter.peek("p");
  const ended = Promise.withResolvers<Pick<Told, "released" | "atLast">>();
  time.at(START_MS, () => void everything().then(ended.resolve, ended.reject));
  await time.runUntil(END_MS);
  const looks = await ended.promise;
  return { answers, repayments: ledger.repayments, abandoned: inFlight.abandoned, ...looks };
}

const isRepaid = ({ keys, flag }: TakeRequest) =>
  flag === Flag.chargeAnyway && !keys.some(({ limits }) => limits.some(isConcurrency));

/** After this long, nothing of a full limit is used any more. */
function spanMs(limit: LimitSpec): number {
  if ("buckets" in limit) return limit.bucketMs * limit.buckets;
  return "windowMs" in limit ? limit.windowMs : 0;
}
