// Policies whose answers state what requests have cost: what is counted, settled and shown, beside other policies.

import express from "express";
import fc from "fast-check";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { rateLimit as expressLimit } from "../../../src/adapters/express.ts";
import { withRateLimit } from "../../../src/adapters/with-rate-limit.ts";
import type { PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import type { Store } from "../../../src/kernel/store/store.ts";
import { draws } from "../../support/cases/draws.ts";
import { startOrigin } from "../../support/gateway/origin-server.ts";
import { createLimiter } from "../../support/limiter.ts";
import { storesAround } from "../../support/redis/stores.ts";

const NOW_MS = 1_700_000_040_000;
const hour = (limit: number) => [{ algorithm: "fixed-window", limit, window: "1h" }] as const;
const stated: PolicyInput = {
  name: "stated",
  key: "global",
  cost: { answer: "X-Cost", reserve: 10 },
  limits: hour(100),
};

let lines: Record<string, unknown>[] = [];

beforeEach(() => {
  vi.useFakeTimers({ now: NOW_MS, toFake: ["Date"] });
  lines = [];
  vi.spyOn(console, "warn").mockImplementation((line) => void lines.push(JSON.parse(line)));
});

/** What the log says of stated costs. */
const problems = () => lines.filter(({ event }) => event === "stated-cost").map(({ problem }) => problem);

type Handle = (request: Request) => Response | Promise<Response>;

const costing = (cost: number | string | undefined, status = 200) =>
  new Response("done", { status, ...(cost !== undefined && { headers: { "x-cost": String(cost) } }) });

function setUp(policies: readonly PolicyInput[], store: Store = memoryStore()) {
  const limiter = createLimiter({ policies, store });
  const works: Promise<unknown>[] = [];
  const ctx = { waitUntil: (work: Promise<unknown>) => void works.push(work) };
  const handles: Handle[] = [];
  const { fetch } = withRateLimit((request: Request) => {
    const number = new URL(request.url).searchParams.get("number");
    return handles[Number(number)]!(request);
  }, limiter);
  return {
    limiter,
    async send(how: Handle, init?: RequestInit): Promise<Response> {
      const number = handles.push(how) - 1;
      return await fetch(new Request(`https://a.example/?number=${number}`, init), {}, ctx as never);
    },
    async used(policy = "stated") {
      for (let i = 0; i < works.length; i++) await works[i];
      const { limits, shadow } = await limiter.peek(policy);
      return [...limits, ...shadow].map(({ limit, remaining }) => limit.limit - remaining)[0];
    },
  };
}

const STORES = storesAround("stated");

describe("what is counted", () => {
  it.each(Object.keys(STORES))("is what answers state, in any order, beside other policies: %s", async (name) => {
    const shadow: PolicyInput = { ...stated, name: "shadow", mode: "shadow", limits: hour(30) };
    const plain: PolicyInput = { name: "plain", key: "global", limits: hour(1_000) };
    const failing: PolicyInput = { ...plain, name: "failing", count: "failures" };
    const request = fc.record({
      cost: fc.constantFrom(undefined, "0", "3", "25", "120", "-1", "oops", "7, 30"),
      status: fc.constantFrom(200, 304, 404, 500, 503),
    });
    const property = fc.asyncProperty(fc.array(request, { maxLength: 12 }), async (requests) => {
      const { send, used } = setUp([stated, shadow, plain, failing], STORES[name]!());
      const expected = { stated: 0, shadow: 0, plain: 0, failing: 0 };
      for (const { cost, status } of requests) {
        const answer = await send(() =>
          status === 304
            ? new Response(null, { status, ...(cost !== undefined && { headers: { "X-Cost": cost } }) })
            : costing(cost, status),
        );
        await used();
        const isAdmitted = expected.stated + 10 <= 100;
        expect(answer.status).toBe(isAdmitted ? status : 429);
        expect(answer.headers.has("x-cost")).toBe(false);
        if (!isAdmitted) continue;
        const units =
          cost === "7, 30"
            ? 30
            : cost !== undefined && /^\d+$/.test(cost)
              ? Number(cost)
              : status >= 500 && !cost
                ? 0
                : 10;
        if (expected.shadow + 10 <= 30) expected.shadow += units;
        expected.stated += units;
        expected.plain++;
        if (status >= 400) expected.failing++;
      }
      for (const [policy, units] of Object.entries(expected)) {
        const limit = { stated: 100, shadow: 30, plain: 1_000, failing: 1_000 }[policy]!;
        expect([policy, await used(policy)]).toEqual([policy, Math.min(units, limit)]);
      }
    });
    await fc.assert(property, draws(60));
  });

  it("is 1 before the answer unless the policy says more, and is what the client's plan allows", async () => {
    const plans = { small: { stated: 12 } };
    const { limiter, send, used } = setUp([{ ...stated, cost: { answer: "x-cost" }, plan: "header:x-plan", plans }]);
    const headers = { "X-Plan": "small" };
    await send(() => costing(12), { headers });
    expect((await send(() => costing(1), { headers })).status).toBe(429);
    expect((await send(() => costing(1))).status).toBe(200);
    expect(await used()).toBe(13);
    expect(limiter.policies[0]).toMatchObject({ cost: [{ cost: 1 }], statedCost: { answer: "x-cost", keep: false } });
  });

  it("goes to the policy that pays", async () => {
    const pool: PolicyInput = { name: "pool", key: "global", limits: hour(1_000) };
    const { send, used } = setUp([{ ...stated, limits: hour(15), overflow: "pool" }, pool]);
    await send(() => costing(9));
    await used();
    const answer = await send(() => costing(40));
    expect([answer.headers.has("x-cost"), await used(), await used("pool")]).toEqual([false, 9, 40]);
  });

  it("does not reach a policy with a name that every object knows", async () => {
    const { send, used } = setUp([stated, { name: "constructor", key: "global", limits: hour(100) }]);
    await send(() => costing(3));
    expect([await used(), await used("constructor")]).toEqual([3, 1]);
  });
});

describe("the header", () => {
  it("stays if a policy keeps it", async () => {
    const keeping: PolicyInput = { ...stated, name: "keeping", cost: { answer: "x-cost", keep: true } };
    const { send, used } = setUp([stated, keeping]);
    expect((await send(() => costing(4))).headers.get("X-Cost")).toBe("4");
    expect([await used(), await used("keeping")]).toEqual([4, 4]);
  });

  it("of two policies is read for each", async () => {
    const { send, used } = setUp([stated, { ...stated, name: "bytes", cost: { answer: "x-bytes", reserve: 5 } }]);
    const answer = await send(() => new Response(null, { headers: { "X-Cost": "2", "X-Bytes": "77" } }));
    expect([await used(), await used("bytes")]).toEqual([2, 77]);
    expect([...answer.headers.keys()].filter((name) => /cost|bytes/.test(name))).toEqual([]);
  });
});

describe("in doubt the reservation stays, and the log says why", () => {
  it("an answer without the header, with several, and with one that is no number", async () => {
    const { send, used } = setUp([stated]);
    for (const cost of [undefined, "3, 40", "-7"]) await send(() => costing(cost));
    expect([await used(), problems()]).toEqual([60, ["no header", "several values", "no integer from 0 to 10^9"]]);
    expect(lines).toContainEqual({
      event: "stated-cost",
      at: new Date(NOW_MS).toISOString(),
      policy: "stated",
      header: "x-cost",
      problem: "several values",
      found: "3, 40",
      counted: 40,
    });
  });
});

describe("Express", () => {
  async function serve(handler: express.RequestHandler) {
    const limiter = createLimiter({ policies: [stated], store: memoryStore() });
    const app = express();
    app.use(expressLimit(limiter, { clientIp: "socket" }), handler);
    app.use(((_error, _req, res, _next) => void res.status(500).send("failed")) as express.ErrorRequestHandler);
    const { url } = await startOrigin(app);
    const used = async () => 100 - (await limiter.peek("stated")).limits[0]!.remaining;
    return { url, used };
  }

  it.each([
    ["set", ((_, res) => void res.set("X-Cost", "4").send("done")) as express.RequestHandler, 4],
    ["given to writeHead", ((_, res) => void res.writeHead(200, { "X-Cost": "5" }).end()) as express.RequestHandler, 5],
    ["written twice", ((_, res) => void res.setHeader("x-cost", ["3", "44"]).end("a")) as express.RequestHandler, 44],
    [
      "a number, before a stream",
      ((_, res) => {
        res.setHeader("x-cost", 6);
        res.write("a");
        res.end("b");
      }) as express.RequestHandler,
      6,
    ],
    ["left by a handler that throws", (() => Promise.reject(new Error("x"))) as express.RequestHandler, 0],
  ])("reads the header, and removes it: %s", async (_, handler, units) => {
    const { url, used } = await serve(handler);
    const answer = await fetch(url);
    await answer.text();
    await vi.waitFor(async () => expect(await used()).toBe(units));
    expect([answer.headers.has("x-cost"), answer.headers.has("RateLimit")]).toEqual([false, true]);
  });

  it.each([
    ["send", ((res) => void res.set("X-Cost", "3").send("late")) as (res: express.Response) => void],
    ["writeHead", ((res) => void res.writeHead(200, { "X-Cost": "3" }).end()) as (res: express.Response) => void],
  ])("reads what a handler states to a client that has left: %s", async (_, end) => {
    let isDone = false;
    const { url, used } = await serve((_, res) => {
      res.once("close", () => {
        setTimeout(() => {
          end(res);
          isDone = true;
        }, 5);
      });
      client.abort();
    });
    const client = new AbortController();
    await fetch(url, { signal: client.signal }).catch(() => {});
    await vi.waitFor(() => expect(isDone).toBe(true));
    await vi.waitFor(async () => expect(await used()).toBe(3));
  });
});
