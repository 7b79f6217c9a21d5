// A store that drops counts: what an isolate recognises by its replies, and what it must not take for a loss.

import { beforeEach, describe, expect, it, type MockInstance, vi } from "vitest";
import type { PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import type { LimitSpec } from "../../../src/kernel/core/algorithms.ts";
import type { CalendarLimit } from "../../../src/kernel/core/calendar.ts";
import {
  ENFORCED,
  Flag,
  type KeyRequest,
  type LimitReply,
  replyOf,
  type TakeReply,
  type TakeRequest,
  take,
} from "../../../src/kernel/core/take.ts";
import { learn, voidKeys } from "../../../src/kernel/place/calls.ts";
import { createIsolate, type IsolateOptions } from "../../../src/kernel/place/isolate.ts";
import { lossWarning, newLosses, unitsAdded } from "../../../src/kernel/place/losses.ts";
import { type Memory, newMemory } from "../../../src/kernel/place/memory.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { type Store, StoreError } from "../../../src/kernel/store/store.ts";
import { createLimiter } from "../../support/limiter.ts";
import { mulberry32 } from "../../support/mulberry32.ts";
import { virtualStore } from "./isolates.ts";

/** The beginning of an hour. */
const NOW_MS = 1_700_002_800_000;
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** An isolate says it when the counts of so many clients are lost. */
const CLIENTS = Array.from({ length: 5 }, (_, i) => `client ${i}`);

let written: MockInstance<typeof console.warn>;
beforeEach(() => {
  vi.useFakeTimers({ now: NOW_MS, toFake: ["Date"] });
  written = vi.spyOn(console, "warn").mockImplementation(() => {});
});

const pass = (ms: number) => void vi.setSystemTime(Date.now() + ms);

const LIMITS = {
  "sliding window": { limit: 20, window: "10m" },
  "sliding window of buckets": { limit: 20, window: "10m", buckets: 10, oldest: "whole" },
  "fixed window": { algorithm: "fixed-window", limit: 20, window: "10m" },
  log: { algorithm: "sliding-log", limit: 20, window: "10m" },
  calendar: { algorithm: "calendar", limit: 20, window: "day" },
} satisfies Record<string, PolicyInput["limits"][number]>;
const policyOf = (limit: PolicyInput["limits"][number], more: Partial<PolicyInput> = {}): PolicyInput => ({
  name: "api",
  key: "header:x-user",
  limits: [limit],
  ...more,
});
const api = policyOf(LIMITS["sliding window"]);

/** A store far away that isolates share, and that can drop what it holds. */
function world(...policies: PolicyInput[]) {
  const memory = memoryStore();
  const keys = new Set<string>();
  const state = { clockMs: 0, failure: undefined as StoreError | undefined };
  const link: Store = {
    ...memory,
    kind: "redis",
    keySecret: "a secret of 32 characters or more",
    async take(request: TakeRequest) {
      for (const { key } of request.keys) keys.add(key).add(`${key}#5:600000`);
      if (state.failure) throw state.failure;
      return await memory.take(request, Date.now() + state.clockMs);
    },
  };
  function isolate(own: readonly PolicyInput[] = policies, namespace?: string) {
    const losses = newLosses();
    const store: Store = {
      ...link,
      ...{ isolate: (options?: IsolateOptions) => createIsolate(link, undefined, { ...options, losses }) },
    };
    const limiter = createLimiter({ policies: own, store, onDecision() {}, ...(namespace && { namespace }) });
    const takeAll = async (cost = 1, clients = CLIENTS) => {
      for (const key of clients) await limiter.take("api", { key, cost, background: { waitUntil() {} } });
    };
    return {
      limiter,
      takeAll,
      lost: () => losses.clients.size,
      warning: () => lossWarning(losses, link.kind, Date.now()),
    };
  }
  /** Drops counts, as a Redis does that is full. */
  const drop = () => memory.reset([...keys]);
  return { state, isolate, drop };
}

type Row = [string, PolicyInput, cost: number, apartMs: number];

it.each<Row>([
  ...Object.entries(LIMITS).map(([name, limit]) => [name, policyOf(limit), 1, MINUTE_MS] satisfies Row),
  ["although it has refused these clients since", policyOf(LIMITS["fixed window"]), 20, MINUTE_MS],
  ["under leased", policyOf(LIMITS["fixed window"], { consistency: "leased" }), 6, 0],
])("a store that drops counts is recognised: %s", async (_, policy, cost, apartMs) => {
  const { isolate, drop } = world(policy);
  const { takeAll, warning } = isolate();
  await takeAll(cost);
  pass(apartMs);
  await takeAll(cost);
  expect(warning()).toBeUndefined();
  await drop();
  pass(apartMs);
  await takeAll(cost);
  expect(warning()).toMatch(/^the store \(redis\) has lost the counts of 5 .* set maxmemory-policy to noeviction/);
  expect(written.mock.calls).toEqual([[JSON.stringify({ event: "note", note: warning() })]]);
});

it("a store that drops counts is told of once, until it has kept its counts for ten minutes", async () => {
  const { isolate, drop } = world(policyOf(LIMITS.calendar));
  const { takeAll, warning } = isolate();
  await takeAll();
  for (let i = 0; i < 4; i++) {
    await drop();
    await takeAll();
    pass(5 * MINUTE_MS);
  }
  expect([warning() !== undefined, written.mock.calls.length]).toEqual([true, 1]);
  await takeAll();
  pass(5 * MINUTE_MS);
  expect([warning(), written.mock.calls.length]).toEqual([undefined, 1]);
  await drop();
  await takeAll();
  expect([warning() !== undefined, written.mock.calls.length]).toEqual([true, 2]);
});

it("a client counts once, at its last loss", async () => {
  const { isolate, drop } = world(policyOf(LIMITS.calendar));
  const { takeAll, warning } = isolate();
  const lose = async (...clients: number[]) => {
    const names = clients.map((client) => CLIENTS[client]!);
    await takeAll(1, names);
    await drop();
    await takeAll(1, names);
  };
  await lose(0);
  pass(9 * MINUTE_MS);
  await lose(1, 2, 3);
  pass(2 * MINUTE_MS);
  await lose(0);
  expect(warning()).toBeUndefined();
  await lose(4);
  expect(warning()).toBeDefined();
  pass(8 * MINUTE_MS);
  expect(warning()).toBeUndefined();
});

const DAY: CalendarLimit = { kind: Kind.calendar, limit: 20, window: "day", zone: "UTC", firstDay: 1 };

interface Tried extends ReturnType<typeof world> {
  readonly one: ReturnType<Tried["isolate"]>;
  readonly other: ReturnType<Tried["isolate"]>;
}

function step({ state, drop }: Tried, minutes: number): Promise<void> {
  state.clockMs = minutes * MINUTE_MS;
  return drop();
}

/** What happens between two requests of each client. The random story below has what every client does. */
const HAPPENS: Record<string, (tried: Tried) => Promise<void> | void> = {
  "a reset of a few clients by another isolate": async ({ other }) => {
    for (const key of CLIENTS.slice(1)) await other.limiter.reset("api", { key });
  },
  "all that was counted comes back": async ({ one }) => {
    for (const key of CLIENTS) {
      await one.limiter.reset("api", { key });
      await (await one.limiter.reserve("api", { key, cost: 3 })).settle(0);
    }
  },
  "the end of the window, by a clock that is a little ahead": async ({ one, other, drop }) => {
    const { limits } = await other.limiter.peek("api", { key: CLIENTS[0]! });
    pass(limits[0]!.resetAfterMs - 500);
    await drop();
    await one.takeAll();
  },
  "a store whose clock has stepped forward": (tried) => step(tried, 5),
  "a store whose clock has stepped back": (tried) => step(tried, -5),
  "a local clock that has stepped back": ({ drop }) => {
    pass(-MINUTE_MS);
    return drop();
  },
  "a deployment with other limits": async ({ isolate }) => {
    await isolate([policyOf({ limit: 7, window: "1h" })]).takeAll();
  },
  "another namespace": async ({ isolate, one }) => {
    const { limiter } = isolate([api], "another");
    for (const key of CLIENTS) await limiter.reset("api", { key });
    await one.takeAll();
  },
};
/** How many clients are then thought to be lost. The others: none. */
const LOST: Readonly<Record<string, number>> = { "a reset of a few clients by another isolate": 4 };

describe("no loss is", () => {
  it.each(Object.entries(HAPPENS))("%s", async (what, happens) => {
    for (const [kind, limit] of Object.entries(LIMITS)) {
      const made = world(policyOf(limit));
      const tried = { ...made, one: made.isolate(), other: made.isolate() };
      await tried.one.takeAll();
      await happens(tried);
      await tried.one.takeAll();
      await tried.other.takeAll();
      const lost = [tried.one.lost(), tried.other.lost()];
      expect([kind, lost, tried.one.warning()]).toEqual([kind, [LOST[what] ?? 0, 0], undefined]);
      vi.setSystemTime(NOW_MS);
    }
  });

  it("one client, reset under many policies", async () => {
    const names = ["a", "b", "c", "d", "e", "f"];
    const { isolate } = world(...names.map((name) => ({ ...api, name })));
    const [one, other] = [isolate(), isolate()];
    const takes = names.map((policy) => ({ policy, key: "ann" }));
    await one.limiter.take(takes);
    for (const name of names) await other.limiter.reset(name, { key: "ann" });
    await one.limiter.take(takes);
    expect([one.lost(), one.warning()]).toEqual([1, undefined]);
  });

  it.each([
    ["a token bucket", policyOf({ algorithm: "token-bucket", limit: 20, window: "1h" })],
    ["a policy in shadow", { ...api, mode: "shadow" as const }],
  ])("%s, of which nobody can be sure", async (_, policy) => {
    const { isolate, drop } = world(policy);
    const { takeAll, lost } = isolate();
    await takeAll();
    await drop();
    await takeAll();
    expect(lost()).toBe(0);
  });

  it("whatever isolates do with a store that keeps its counts", async () => {
    for (const [seed, limit] of Object.values(LIMITS).entries()) {
      const random = mulberry32(seed);
      const pick = <T>(from: readonly T[]) => from[Math.floor(random() * from.length)]!;
      const { isolate, state } = world(policyOf(limit));
      const isolates = [isolate(), isolate()];
      const reserved: Awaited<ReturnType<(typeof isolates)[number]["limiter"]["reserve"]>>[] = [];
      for (let i = 0; i < 150; i++) {
        const { limiter } = pick(isolates);
        const options = { key: pick(CLIENTS), cost: pick([1, 1, 5]) };
        const work = random();
        state.failure = random() < 0.05 ? new StoreError(pick(["NETWORK", "OVERLOADED"] as const)) : undefined;
        if (work < 0.4) await limiter.take("api", options);
        else if (work < 0.5) await limiter.peek("api", options);
        else if (work < 0.7) reserved.push(await limiter.reserve("api", options));
        else if (work < 0.9) await reserved.pop()?.settle(pick([0, 0, 1, 7, 30]));
        else if (work < 0.93) for (const each of isolates) await each.limiter.reset("api", options);
        else pass(pick([10, 1_000, MINUTE_MS, 7 * MINUTE_MS, DAY_MS]));
      }
      expect(isolates.map(({ lost }) => lost())).toEqual([0, 0]);
      vi.setSystemTime(NOW_MS);
    }
  });
});

describe("no loss is what a reply shows", () => {
  const hour: LimitSpec = { kind: Kind.fixedWindow, limit: 20, windowMs: 60 * MINUTE_MS };
  const asked: KeyRequest[] = [{ key: "k", group: ENFORCED, cost: 1, limits: [hour] }];
  const learned = (memory: Memory, flag: Flag, reply: TakeReply, call: number) => {
    learn(memory, { request: { keys: asked, flag }, reply, call, sentAtMs: NOW_MS, receivedAtMs: NOW_MS });
    return memory.losses.clients.size;
  };

  it("if it is older than the one before it", () => {
    const [store, memory] = [virtualStore(), newMemory()];
    const flags = [Flag.take, Flag.chargeAnyway];
    const replies = flags.map((flag) => store.take(asked, flag, NOW_MS));
    memory.last = 2;
    for (const at of [1, 0]) expect(learned(memory, flags[at]!, replies[at]!, at + 1)).toBe(0);
  });

  it("to a request that came while the key was being reset", async () => {
    const [store, memory] = [virtualStore(), newMemory()];
    const charge = () => store.take(asked, Flag.take, NOW_MS);
    learned(memory, Flag.take, charge(), ++memory.last);
    voidKeys(memory, ["k"]);
    const emptied = virtualStore().take(asked, Flag.take, NOW_MS);
    expect(learned(memory, Flag.take, emptied, ++memory.last)).toBe(0);
  });
});

// What the stories above do not come to.
it.each<[name: string, Partial<KeyRequest>, Partial<LimitReply>, units: number]>([
  ["is every unit of a charge", {}, {}, 3],
  ["is none of a repeat", { once: { id: "a", forMs: 60_000, repeats: 1 } }, { repeated: true }, 0],
  ["is none for a period that may have ended", { limits: [{ ...DAY, atMs: 1 }] }, {}, 0],
])("what an isolate has surely added %s", (_, more, told, units) => {
  const asked: KeyRequest = { key: "hg:2:{api:client}", group: ENFORCED, cost: 3, limits: [DAY], ...more };
  const { keys } = take(() => undefined, { keys: [asked], flag: Flag.look }, NOW_MS).reply;
  const flag = more.limits ? Flag.chargeAnyway : Flag.take;
  const { charged } = replyOf({ keys: [asked], flag }, NOW_MS, [[{ ...keys[0]![0]!, ...told }]]);
  expect(unitsAdded(charged[0], asked, flag)).toBe(units);
});
