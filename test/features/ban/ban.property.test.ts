// Bans under any order of requests, outages, late, lost and doubled reports, resets and other numbers: what a store
// bans is what was reported to it, and what an instance says of a ban is true.

import fc from "fast-check";
import { beforeEach, expect, it, vi } from "vitest";
import { type Decision, memoryStore, type PolicyInput } from "../../../src/index.ts";
import { Kind } from "../../../src/kernel/core/layout.ts";
import { Flag, type KeyRequest, type TakeReply, type TakeRequest } from "../../../src/kernel/core/take.ts";
import { type Store, StoreError } from "../../../src/kernel/store/store.ts";
import { remoteStore } from "../../../src/stores/remote-store.ts";
import { draws, expectReached } from "../../support/cases/draws.ts";
import { createLimiter } from "../../support/limiter.ts";

const S = 1_000;
const M = 60 * S;
const [AFTER, WITHIN_MS, FOR_MS] = [4, M, [2 * M, 20 * M]] as const;
const LONGEST_MS = Math.max(...FOR_MS);
/** For so long a reply is trusted. */
const TRUSTED_MS = 5 * S;
/** By how much an instance may know the store's clock too late, and how much later with time since the last reply. */
const CLOCK_MS = 410;
const DRIFT = 1e-3;

const POLICY: PolicyInput = {
  name: "api",
  limits: [{ algorithm: "fixed-window", limit: 2, window: "1h" }],
  ban: { after: AFTER, within: "1m", for: ["2m", "20m"] },
};
const HOW = { strict: {}, leased: { consistency: "leased" }, shared: { consistency: "shared", sync: "1s" } } as const;
const CLIENTS = ["ann", "bob"] as const;
type Client = (typeof CLIENTS)[number];

/** What becomes of calls. `lost`: they run, without an answer. `doubled`: reports run twice. */
const FATES = ["up", "down", "overloaded", "lost", "slow", "silent", "doubled"] as const;
type Fate = (typeof FATES)[number];

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ take: fc.constantFrom(...CLIENTS), by: fc.nat(1), times: fc.integer({ min: 1, max: 6 }) }),
  },
  { weight: 4, arbitrary: fc.record({ waitMs: fc.constantFrom(100, 1_100, 3 * S, 8 * S, 55 * S, 2 * M, 25 * M) }) },
  { weight: 2, arbitrary: fc.record({ fate: fc.constantFrom(...FATES, "up", "up", "up") }) },
  { weight: 1, arbitrary: fc.record({ reset: fc.constantFrom(...CLIENTS), by: fc.nat(1) }) },
  { weight: 1, arbitrary: fc.record({ limit: fc.constantFrom(1, 2, 30) }) },
);

interface Ban {
  readonly beginsAtMs: number;
  readonly endsAtMs: number;
  readonly number: number;
  liftedAtMs: number;
}

/** The bans of one client, by its reports alone. */
class Account {
  readonly bans: Ban[] = [];
  #reports: { readonly atMs: number; readonly refusals: number }[] = [];

  at(nowMs: number): Ban | undefined {
    return this.bans.find(({ beginsAtMs, endsAtMs, liftedAtMs }) => {
      return beginsAtMs <= nowMs && nowMs < Math.min(endsAtMs, liftedAtMs);
    });
  }

  /** A report has arrived. @param endsAtMs what the store says now: when the last ban ends. */
  report(refusals: number, nowMs: number, endsAtMs: number): void {
    const active = this.at(nowMs);
    if (active) {
      expect(endsAtMs).toBe(active.endsAtMs);
      return;
    }
    this.#reports.push({ atMs: nowMs, refusals });
    const sum = (ms: number) => this.#reports.reduce((all, one) => all + (one.atMs > nowMs - ms ? one.refusals : 0), 0);
    if (endsAtMs <= nowMs) {
      expect(sum((WITHIN_MS * 7) / 8)).toBeLessThan(AFTER);
      return;
    }
    expect(sum(WITHIN_MS)).toBeGreaterThanOrEqual(AFTER);
    const last = this.bans.at(-1);
    const isKnown = last && last.liftedAtMs === Number.POSITIVE_INFINITY && last.endsAtMs + LONGEST_MS > nowMs;
    const number = Math.min(isKnown ? last.number + 1 : 0, FOR_MS.length - 1);
    expect(endsAtMs - nowMs).toBe(FOR_MS[number]);
    this.bans.push({ beginsAtMs: nowMs, endsAtMs, number, liftedAtMs: Number.POSITIVE_INFINITY });
    this.#reports = [];
  }

  reset(nowMs: number): void {
    for (const ban of this.bans) ban.liftedAtMs = Math.min(ban.liftedAtMs, nowMs);
    this.#reports = [];
  }
}

beforeEach(() => void vi.useFakeTimers({ now: 1_800_000_000_000 }));

/** Lets time pass until the work is done. */
async function done<T>(work: Promise<T>): Promise<T> {
  let isDone = false;
  const end = () => {
    isDone = true;
  };
  work.then(end, end);
  while (!isDone) await vi.advanceTimersToNextTimerAsync();
  return await work;
}

function world(how: keyof typeof HOW) {
  const memory = memoryStore();
  const state = { fate: "up" as Fate, upSinceMs: Date.now(), reported: 0, calls: 0 };
  const accounts = new Map<string, Account>();
  const policies = [{ ...POLICY, ...HOW[how] }];
  const limiterOver = (store: Store) =>
    createLimiter({ policies, store, onDecision: [], keySecret: "a secret of sixteen" });

  const isReport = ({ key, cost }: KeyRequest, { flag }: TakeRequest) =>
    flag === Flag.chargeAnyway && key.endsWith("!ban") && cost > 0;
  async function runs(request: TakeRequest): Promise<TakeReply> {
    const nowMs = Date.now();
    const reply = await memory.take(request, nowMs);
    for (const [k, one] of request.keys.entries()) {
      if (!isReport(one, request)) continue;
      const [{ view }] = reply.keys[k]! as unknown as [{ view: { endsAtMs: number } }];
      accounts.get(one.key)!.report(one.cost, nowMs, view.endsAtMs);
    }
    return reply;
  }
  const far: Store = {
    ...memory,
    kind: "redis",
    async take(request) {
      const { fate } = state;
      if (request.flag === Flag.take) state.calls++;
      for (const one of request.keys) if (isReport(one, request)) state.reported += one.cost;
      // Virtual time, also below: the way to the store, and a slow reply.
      await new Promise((resolve) => setTimeout(resolve, 2));
      if (fate === "down") throw new StoreError("NETWORK");
      if (fate === "overloaded") throw new StoreError("OVERLOADED");
      if (fate === "silent") return await new Promise(() => {});
      if (fate === "doubled" && request.keys.some((one) => isReport(one, request))) await runs(request);
      const reply = await runs(request);
      if (fate === "lost") throw new StoreError("NETWORK");
      if (fate === "slow") await new Promise((resolve) => setTimeout(resolve, 400));
      return reply;
    },
    async reset(keys) {
      if (!["up", "slow", "doubled"].includes(state.fate)) throw new StoreError("NETWORK");
      await memory.reset(keys);
      for (const key of keys) accounts.get(key)?.reset(Date.now());
    },
  };
  const instances = [0, 1].map(() => limiterOver(remoteStore(far, { onBreakerChange() {} })));

  /** The key of each client's ban. */
  async function begin(): Promise<Record<Client, Account>> {
    const named = {} as Record<Client, Account>;
    for (const client of CLIENTS) {
      const noted: string[] = [];
      const take: Store["take"] = async (asked) => {
        noted.push(...asked.keys.map(({ key }) => key));
        return await memory.take(asked);
      };
      await limiterOver({ ...memory, take }).peek("api", { key: client });
      named[client] = new Account();
      accounts.set(noted.find((key) => key.endsWith("!ban"))!, named[client]);
    }
    return named;
  }
  return { state, instances, begin };
}

/** What an instance says about a client's bans. */
function checkAnswer(
  { policies: [one], source }: Decision,
  account: Account,
  sentAtMs: number,
  upSinceMs: number,
  mayRepay: boolean,
): void {
  const nowMs = Date.now();
  const { became, limits } = one!;
  if (became === "banned") {
    const { retryAfterMs } = limits.find(({ limit }) => limit.kind === Kind.ban)!;
    // After a reset and a new ban, an instance may still trust what it has heard of the ban before.
    const ban = account.bans.findLast(
      ({ beginsAtMs, endsAtMs }) =>
        beginsAtMs <= nowMs &&
        sentAtMs < endsAtMs + CLOCK_MS &&
        retryAfterMs! >= endsAtMs - nowMs &&
        retryAfterMs! <= endsAtMs - sentAtMs + CLOCK_MS + DRIFT * (endsAtMs - beginsAtMs),
    );
    expect(ban, "a ban that the store knows, and its end").toBeDefined();
    const isOver = ban!.liftedAtMs < Math.min(sentAtMs, Math.max(sentAtMs - TRUSTED_MS, upSinceMs) + 1) - TRUSTED_MS;
    if (upSinceMs < ban!.liftedAtMs) expect(isOver, "a ban that was lifted").toBe(false);
    return;
  }
  // A store that has decided knows its bans, and memory as soon as it is no longer trusted.
  const sinceMs = source === "redis" ? sentAtMs : sentAtMs - TRUSTED_MS;
  // An instance that repays what it has admitted by itself hears of the limits alone, and trusts that reply as well.
  if (source !== "redis" && (source !== "cache" || (mayRepay && became === "refused"))) return;
  const [then, now] = [account.at(sinceMs), account.at(nowMs)];
  expect(then !== undefined && then === now, `${became} by ${source} in spite of a ban`).toBe(false);
}

it.each(["strict", "leased", "shared"] as const)(
  "under %s: bans as reported, for as long as told, and says nothing untrue",
  async (how) => {
    let [bans, banned, uncounted] = [0, 0, 0];
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 60, size: "max" }), async (steps) => {
        const { state, instances, begin } = world(how);
        const accounts = await begin();
        let [limit, refusals, isCounted] = [2, 0, true];
        /** Who has admitted whom by itself. */
        const repaying = new Set<string>();
        for (const one of steps) {
          if ("waitMs" in one) await vi.advanceTimersByTimeAsync(one.waitMs);
          else if ("limit" in one) limit = one.limit;
          else if ("fate" in one) {
            const isUp = one.fate === "up" || one.fate === "doubled";
            state.upSinceMs = !isUp ? Number.POSITIVE_INFINITY : Math.min(state.upSinceMs, Date.now());
            isCounted &&= isUp;
            state.fate = one.fate;
          } else if ("reset" in one) {
            isCounted = false;
            await done(instances[one.by]!.reset("api", { key: one.reset }).catch(() => {}));
          } else {
            for (let i = 0; i < one.times; i++) {
              const [sentAtMs, { calls }] = [Date.now(), state];
              const options = { key: one.take, limits: { api: limit }, background: { waitUntil() {} } };
              const decision = await done(instances[one.by]!.take("api", options));
              const pair = `${one.by} ${one.take}`;
              if (decision.source === "fallback" && decision.allowed) repaying.add(pair);
              checkAnswer(decision, accounts[one.take], sentAtMs, state.upSinceMs, repaying.has(pair));
              if (how === "strict") expect(state.calls - calls).toBeLessThanOrEqual(1);
              const [{ became, unanswered }] = decision.policies as [Decision["policies"][number]];
              if (became === "banned") banned++;
              if (became === "refused" && unanswered) uncounted++;
              if (became === "refused" && !unanswered && decision.source !== "lease") refusals++;
            }
          }
        }
        await vi.advanceTimersByTimeAsync(4 * S);
        expect(state.reported).toBeLessThanOrEqual(refusals);
        if (isCounted) expect(state.reported).toBe(refusals);
        for (const client of CLIENTS) bans += accounts[client].bans.length;
        vi.clearAllTimers();
      }),
      draws(60),
    );
    expectReached(bans, 40);
    expectReached(banned, 40);
    // Under `shared` no answer waits for the store.
    if (how !== "shared") expectReached(uncounted, 10);
  },
  120_000,
);
