// Policies that count only failed requests, or only successful ones: what is given back, when, and what waits are told.

import fc from "fast-check";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { withRateLimit } from "../../../src/adapters/with-rate-limit.ts";
import type { PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import type { Decision } from "../../../src/kernel/core/decision.ts";
import { withIsolate } from "../../../src/kernel/place/isolate.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { type Store, StoreError } from "../../../src/kernel/store/store.ts";
import { draws, expectReached } from "../../support/cases/draws.ts";
import { createLimiter } from "../../support/limiter.ts";
import { storesAround } from "../../support/redis/stores.ts";

const WINDOW_MS = 60_000;
/** The beginning of a window. */
const NOW_MS = 1_700_000_040_000;
const login: PolicyInput = {
  name: "login",
  key: "global",
  count: "failures",
  limits: [{ algorithm: "fixed-window", limit: 5, window: "1m" }],
};

beforeEach(() => void vi.useFakeTimers({ now: NOW_MS, toFake: ["Date"] }));

const LISTED = ["401", "3xx", "5xx"] as const;
const LEFT_OUT = ["all", "not 304", "not 5xx"] as const;
const COUNTED = new Map<unknown, (status: number) => boolean>([
  ["failures", (status) => status >= 400],
  ["successes", (status) => status < 400],
  [LISTED, (status) => status === 401 || [3, 5].includes(Math.floor(status / 100))],
  [LEFT_OUT, (status) => status !== 304 && status < 500],
]);

type Handle = (request: Request) => Response | Promise<Response>;

/** A limiter before a handler whose answers the test gives. */
function setUp(policies: readonly PolicyInput[], store: Store = memoryStore()) {
  const decisions: Decision[] = [];
  const limiter = createLimiter({ policies, store, onDecision: (decision) => void decisions.push(decision) });
  const works: Promise<unknown>[] = [];
  const ctx = { waitUntil: (work: Promise<unknown>) => void works.push(work) };
  const handles = new Map<string, Handle>();
  const { fetch } = withRateLimit(
    (request: Request) => handles.get(request.headers.get("X-Number")!)!(request),
    limiter,
    {
      cost: (request) => Number(request.headers.get("X-Cost")),
    },
  );
  async function send(handle: Handle, cost = 1): Promise<Response> {
    const number = String(handles.size);
    handles.set(number, handle);
    const headers = { "X-Number": number, "X-Cost": String(cost) };
    return await fetch(new Request("https://a.example/login", { headers }), {}, ctx as never);
  }
  /** What was to come back has come back. */
  async function settled(): Promise<void> {
    for (let i = 0; i < works.length; i++) await works[i];
  }
  return {
    limiter,
    decisions,
    send,
    settled,
    async sendFor(status: number, cost?: number): Promise<Response> {
      const answer = await send(() => new Response(null, { status }), cost);
      await settled();
      return answer;
    },
    /** A request that reaches the handler, or is refused. */
    async begin(cost?: number): Promise<{ answer: Promise<Response>; respond?: (status: number) => void }> {
      let reached = (_respond: (status: number) => void) => {};
      const isReached = new Promise<(status: number) => void>((resolve) => {
        reached = resolve;
      });
      const handle = () =>
        new Promise<Response>((resolve) => reached((status) => resolve(new Response(null, { status }))));
      const answer = send(handle, cost);
      const respond = await Promise.race([isReached, answer.then(() => undefined)]);
      return { answer, ...(respond && { respond }) };
    },
    async used(policy = "login") {
      await settled();
      const { limits, shadow } = await limiter.peek(policy);
      decisions.pop();
      return [...limits, ...shadow].map(({ limit, remaining }) => limit.limit - remaining);
    },
  };
}

const STORES = storesAround("login");

describe("at once", () => {
  it("an attempt that ends without a word is in flight for a minute", async () => {
    const hour: PolicyInput = { ...login, limits: [{ algorithm: "fixed-window", limit: 1, window: "1h" }] };
    const { begin, sendFor } = setUp([hour]);
    await begin();
    vi.setSystemTime(NOW_MS + 59_999);
    expect((await sendFor(200)).headers.get("Retry-After")).toBe("1");
    vi.setSystemTime(NOW_MS + 60_000);
    expect(Number((await sendFor(200)).headers.get("Retry-After"))).toBeGreaterThan(60);
  });

  it("any story keeps to its model, beside a policy in shadow", async () => {
    type Step =
      | { readonly begin: number }
      | { readonly end: number; readonly status: number }
      | { readonly afterMs: number };
    const statuses = fc.constantFrom(200, 204, 302, 304, 399, 400, 401, 401, 429, 500, 503);
    const step = fc.oneof<fc.Arbitrary<Step>[]>(
      fc.record({ begin: fc.integer({ min: 0, max: 3 }) }),
      fc.record({ end: fc.nat(10), status: statuses }),
      fc.record({ afterMs: fc.integer({ min: 1, max: 5_000 }) }),
    );
    const shadow: PolicyInput = { ...login, name: "shadow", mode: "shadow", count: "successes" };
    const reached = { certain: 0, inFlight: 0 };
    const property = fc.asyncProperty(
      fc.array(step, { minLength: 20, maxLength: 40 }),
      fc.constantFrom(...Object.keys(STORES)),
      fc.constantFrom<Exclude<PolicyInput["count"], undefined>>("failures", "successes", LISTED, LEFT_OUT),
      async (steps, store, count) => {
        vi.setSystemTime(NOW_MS);
        const { begin, used, settled, decisions } = setUp([{ ...login, count }, shadow], STORES[store]!());
        const [charged, watched] = [new Map<number, number>(), new Map<number, number>()];
        const open: {
          cost: number;
          window: number;
          isWatched: boolean;
          answer: Promise<Response>;
          respond: (status: number) => void;
        }[] = [];
        const windowOf = () => Math.floor(Date.now() / WINDOW_MS);
        const add = (to: Map<number, number>, window: number, cost: number) =>
          to.set(window, (to.get(window) ?? 0) + cost);
        for (const one of steps) {
          if ("afterMs" in one) vi.setSystemTime(Date.now() + one.afterMs);
          else if ("end" in one) {
            const [attempt] = open.splice(one.end % (open.length || 1), 1);
            if (!attempt) continue;
            attempt.respond(one.status);
            expect((await attempt.answer).status).toBe(one.status);
            await settled();
            if (!COUNTED.get(count)!(one.status)) add(charged, attempt.window, -attempt.cost);
            if (attempt.isWatched && one.status >= 400) add(watched, attempt.window, -attempt.cost);
          } else {
            const cost = one.begin;
            const window = windowOf();
            const free = 5 - (charged.get(window) ?? 0);
            const { answer, respond } = await begin(cost);
            expect(respond !== undefined).toBe(cost <= free);
            if (respond) {
              add(charged, window, cost);
              const isWatched = (watched.get(window) ?? 0) + cost <= 5;
              if (isWatched) add(watched, window, cost);
              open.push({ cost, window, isWatched, answer, respond });
            } else {
              const back = open.reduce((sum, attempt) => sum + attempt.cost, 0);
              const isInFlight = free + back >= cost;
              reached[isInFlight ? "inFlight" : "certain"]++;
              const leftMs = (window + 1) * WINDOW_MS - Date.now();
              const waitMs = isInFlight ? Math.min(leftMs, 1_000) : leftMs;
              const told = Number((await answer).headers.get("retry-after-ms"));
              expect(told).toBeGreaterThanOrEqual(waitMs);
              // An isolate knows the clock of a store to a few milliseconds.
              expect(told).toBeLessThan(waitMs + 10);
            }
          }
        }
        expect(decisions).toHaveLength(steps.filter((one) => "begin" in one).length);
        const now = windowOf();
        expect([await used(), await used("shadow")]).toEqual([[charged.get(now) ?? 0], [watched.get(now) ?? 0]]);
      },
    );
    await fc.assert(property, draws(150));
    expectReached(reached.certain, 50);
    expectReached(reached.inFlight, 50);
  });
});

describe("a status that nobody learned stays charged", () => {
  it.each(["failures", "successes"] as const)("under %s: the handler throws, or never answers", async (count) => {
    const { begin, send, used } = setUp([{ ...login, count }]);
    const thrown = send(() => {
      throw new Error("handler");
    }, 2);
    await expect(thrown).rejects.toThrow("handler");
    await begin(1);
    expect(await used()).toEqual([3]);
  });
});

describe("beside other policies", () => {
  const slots: PolicyInput = { name: "slots", key: "global", limits: [{ algorithm: "concurrency", limit: 1 }] };

  it("units are back before the body has ended, and the slot when it has", async () => {
    const { send, limiter } = setUp([login, slots]);
    const { readable, writable } = new TransformStream<Uint8Array>();
    const answer = await send(() => new Response(readable));
    const left = async () => {
      const { limits } = await limiter.peek([{ policy: "login" }, { policy: "slots" }]);
      return limits.map(({ remaining }) => remaining);
    };
    await vi.waitFor(async () => expect(await left()).toEqual([5, 0]));
    const text = answer.text();
    await writable.close();
    await text;
    await vi.waitFor(async () => expect(await left()).toEqual([5, 1]));
  });
});

it("through an outage the isolate counts by itself, and the store learns of the failures alone", async () => {
  const place = memoryStore();
  let isCut = false;
  const take: Store["take"] = async (request) => {
    if (isCut) throw new StoreError("NETWORK", "READONLY");
    return await place.take(request);
  };
  const shared = setUp([login], place);
  const { sendFor } = setUp([login], withIsolate({ ...place, kind: "far", take }));
  for (const status of [200, 401, 200]) await sendFor(status);
  isCut = true;
  for (const status of [401, 200, 200, 401, 200, 401]) expect((await sendFor(status)).status).toBe(status);
  expect(await shared.used()).toEqual([1]);
  expect((await sendFor(401)).status).toBe(401);
  expect((await sendFor(200)).status).toBe(429);
  isCut = false;
  // This request tells the store what it has missed.
  await sendFor(200, 0);
  await vi.waitFor(async () => expect(await shared.used()).toEqual([5]));
  expect((await sendFor(200)).status).toBe(429);
});
