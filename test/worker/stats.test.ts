// A gateway that counts, inside workerd. What becomes of counts while STATS hangs or throws: test/operate/stats.

import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { afterEach, expect, it, vi } from "vitest";
import { createGateway } from "../../src/gateway.ts";
import type { Batch } from "../../src/operate/stats/batch.ts";
import { NO_REDIS, uniqueName } from "./support.ts";

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** A STATS that notes its batches. */
function fakeStats() {
  const [batches, names]: [Batch[], Set<string>] = [[], new Set()];
  const namespace = {
    idFromName(name: string) {
      names.add(name);
      return name;
    },
    get: () => ({ add: async (batch: Batch) => void batches.push(batch) }),
  };
  return { batches, names, namespace };
}

/** Over all minutes: one may begin while requests are made. */
function sumsOf(batches: Iterable<Batch>): Record<string, number> {
  const all: Record<string, number> = {};
  for (const { minutes } of batches) {
    for (const one of minutes.flatMap(({ sums }) => Object.entries(sums))) all[one[0]] = (all[one[0]] ?? 0) + one[1];
  }
  return all;
}

const ADMIN_TOKEN = "t0ken-of-the-admin-of-these-tests";
const limits = [{ limit: 3, window: "1h" }];

/** @returns a function that makes requests, and returns their statuses and their backgrounds. */
function gatewayOf(bindings: Record<string, unknown>) {
  const name = uniqueName("api");
  const gateway = createGateway({
    ...NO_REDIS,
    ADMIN_TOKEN,
    STATS_FLUSH: "1s",
    POLICIES: [{ name, limits }],
    ...bindings,
  });
  const contexts: ExecutionContext[] = [];
  async function ask(count: number, path = "/") {
    const statuses: number[] = [];
    for (let i = 0; i < count; i++) {
      const context = createExecutionContext();
      contexts.push(context);
      const request = new Request(`https://gate.example${path}`, { headers: { "CF-Connecting-IP": "192.0.2.1" } });
      statuses.push((await gateway.fetch(request, {}, context)).status);
    }
    return statuses;
  }
  /** Until no request has work in the background. */
  const idle = async () => await Promise.all(contexts.splice(0).map(waitOnExecutionContext));
  return { name, ask, idle };
}

it("hands on what was counted, in the background, once the isolate is idle", async () => {
  // The flush comes when the clock is moved, however slow the machine is.
  vi.useFakeTimers();
  const { batches, names, namespace } = fakeStats();
  const { name, ask, idle } = gatewayOf({ STATS: namespace });
  expect(await ask(5)).toEqual([200, 200, 200, 429, 429]);
  // Looks, and paths without a policy's decision, count nothing.
  await ask(1, "/.headgate/limits/me");
  expect(batches).toEqual([]);
  await vi.advanceTimersByTimeAsync(1_000);
  await idle();
  expect(sumsOf(batches)).toEqual({
    [`decisions\t${name}\tlocal\tadmitted\tmemory`]: 3,
    [`decisions\t${name}\tlocal\trefused\tmemory`]: 2,
    [`units\t${name}\tadmitted`]: 3,
    [`units\t${name}\trefused`]: 2,
    [`near_limit\t${name}\t${name}`]: 1,
  });
  expect([batches.length, [...names]]).toEqual([1, ["headgate:stats"]]);
});

it("names the places whose breaker is open, and counts what is decided without them", async () => {
  vi.spyOn(console, "warn").mockImplementation(() => {});
  vi.spyOn(console, "log").mockImplementation(() => {});
  const { batches, namespace } = fakeStats();
  const url = "http://127.0.0.1:1";
  const REDIS_NODES = ["a", "b"].map((name) => ({ name, url, token: "TOKEN", live: name === "a" }));
  const { name, ask, idle } = gatewayOf({
    ...{ STATS: namespace, REDIS_NODES, TOKEN: "dead", KEY_SECRET: "sixteen letters or more", REDIS_TIMEOUT_MS: 5_000 },
    UPSTASH_REDIS_REST_URL: "",
  });
  await ask(8);
  await idle();
  const [place] = batches.at(-1)!.open;
  expect(["a", "b"]).toContain(place);
  // The breaker opens at the fifth failure: then no call is made.
  expect(sumsOf(batches)).toMatchObject({ [`store_calls\t${place}\tnetwork`]: 5, [`fallback\t${name}`]: 8 });
});

it.each([
  ["STATS_FLUSH is 0s", { STATS_FLUSH: "0s" }],
  ["nobody may see metrics", { ADMIN_TOKEN: "" }],
])("never calls STATS if %s", async (_why, bindings) => {
  const { batches, namespace } = fakeStats();
  const { ask, idle } = gatewayOf({ STATS: namespace, ...bindings });
  await ask(5);
  await idle();
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  expect(batches).toEqual([]);
});
