// A warning when two middlewares charge one request twice.

import { inspect } from "node:util";
import { Hono } from "hono";
import { beforeEach, expect, it, vi } from "vitest";
import { rateLimit } from "../../../src/adapters/hono.ts";
import { noteCounted } from "../../../src/features/counted-twice/counted-twice.ts";
import { createLimiter, type Limiter, memoryStore, type PolicyInput, withRateLimit } from "../../../src/index.ts";

const policy = (name: string, more: Partial<PolicyInput> = {}): PolicyInput => ({
  name,
  key: "global",
  limits: [{ limit: 100, window: "1h" }],
  ...more,
});
const limiterOf = (...policies: PolicyInput[]): Limiter => createLimiter({ policies, store: memoryStore() });

const muted = () => vi.spyOn(console, "warn").mockImplementation(() => {});
let warn: ReturnType<typeof muted>;
beforeEach(() => {
  warn = muted();
});

const NOTE = (name: string) =>
  JSON.stringify({
    event: "note",
    note: `policy ${name} counts one request twice: two middlewares of one limiter are around it (app.use twice, or one inside the other): remove one`,
  });

/** The lines of the console after three requests, and what is left then. */
async function linesOf(limiter: Limiter, app: { fetch(request: Request): Response | Promise<Response> }) {
  for (let i = 0; i < 3; i++) await app.fetch(new Request("https://app.example/", { headers: { "X-User": "ann" } }));
  const { remaining } = await limiter.peek("one", { key: "global", kind: "global", cost: 0 });
  return [warn.mock.calls.flat(), remaining];
}

it.each<[string, (limiter: Limiter) => { fetch(request: Request): Response | Promise<Response> }]>([
  ["app.use twice", (limiter) => new Hono().use(rateLimit(limiter)).use(rateLimit(limiter))],
  [
    "a middleware of Hono in withRateLimit",
    (limiter) => {
      const app = new Hono().use(rateLimit(limiter));
      const { fetch } = withRateLimit((request: Request) => app.fetch(request), limiter);
      return { fetch: (request) => fetch(request as never, {}, { waitUntil() {} } as never) };
    },
  ],
])("%s is said once in an isolate, for each policy", async (_, appOf) => {
  const limiter = limiterOf(policy("one"), policy("two"), policy("other", { match: { path: "/other" } }));
  expect(await linesOf(limiter, appOf(limiter))).toEqual([[NOTE("one"), NOTE("two")], 94]);
});

it.each<[string, (limiter: Limiter) => Hono]>([
  ["one middleware", (limiter) => new Hono().use(rateLimit(limiter))],
  [
    "another limiter, also with a policy of that name",
    (limiter) => new Hono().use(rateLimit(limiter)).use(rateLimit(limiterOf(policy("one")))),
  ],
  [
    "another client of the same request",
    (limiter) => new Hono().use(rateLimit(limiter)).use(rateLimit(limiter, { key: (c) => c.req.header("X-User") })),
  ],
  ["a look", (limiter) => new Hono().use(rateLimit(limiter)).use(rateLimit(limiter, { cost: 0 }))],
])("%s is no mistake, and nothing is said", async (_, appOf) => {
  const limiter = limiterOf(policy("one"));
  expect(await linesOf(limiter, appOf(limiter))).toEqual([[], 97]);
});

it.each([1, 0])("an object that is sent 100 times, at a cost of %i, is noted once", (cost) => {
  const [known, other] = limiterOf(policy("one"), policy("two")).policies;
  let looks = 0;
  const take = {
    get policy() {
      looks++;
      return known!;
    },
    ...{ key: { kind: "global", values: ["global"] }, cost },
  };
  const request = {};
  for (let i = 0; i < 100; i++) noteCounted(request, [take]);
  looks = 0;
  // Compared with all that was noted.
  noteCounted(request, [{ ...take, policy: other!, cost: 1 }]);
  expect(looks).toBeLessThan(5);
});

it("what was noted shows in no copy and no log of the request, and a frozen request is served", () => {
  const [known] = limiterOf(policy("one")).policies;
  const takes = [{ policy: known!, key: { kind: "header:x-user", values: ["ann"] }, cost: 1 }];
  const request = { url: "/" };
  noteCounted(request, takes);
  expect([inspect(request), Reflect.ownKeys({ ...request })]).toEqual(["{ url: '/' }", ["url"]]);
  expect(() => noteCounted(Object.freeze({}), takes)).not.toThrow();
});
