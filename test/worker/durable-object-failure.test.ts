// A gateway whose object fails: each policy's `onStoreFailure`, the breaker, and what is charged later.

import { afterEach, expect, it, vi } from "vitest";
import { fieldsOf } from "../support/cases/fields.ts";
import { COUNTS, gatewayWith, NO_REDIS, uniqueName } from "./support.ts";

type Fault = "none" | "throws" | "is overloaded" | "hangs";

afterEach(() => vi.restoreAllMocks());

/** The real object, until a fault is chosen. Counts the calls that reached it or failed before it. */
function faultyCounts() {
  const state = { fault: "none" as Fault, calls: 0 };
  const broken: Record<Exclude<Fault, "none">, () => Promise<never>> = {
    throws: () => Promise.reject(Object.assign(new Error("hg:2:{the-key}"), { remote: true })),
    "is overloaded": () => Promise.reject(Object.assign(new Error("hg:2:{the-key}"), { overloaded: true })),
    hangs: () => new Promise(() => {}),
  };
  const namespace = {
    idFromName: (name: string) => COUNTS.idFromName(name),
    get(id: DurableObjectId) {
      state.calls++;
      if (state.fault === "none") return COUNTS.get(id);
      const fail = broken[state.fault];
      return { take: fail, reset: fail, ping: fail };
    },
  };
  return { state, namespace };
}

function faultyGateway() {
  const { state, namespace } = faultyCounts();
  const limits = [{ limit: 10, window: "1h" }];
  const name = uniqueName("local");
  const ask = gatewayWith({
    ...{ ...NO_REDIS, COUNTS: namespace, REDIS_TIMEOUT_MS: 1_000 },
    POLICIES: [
      { name, match: { path: "/local" }, limits },
      { name: uniqueName("allow"), match: { path: "/allow" }, limits, onStoreFailure: "allow" },
      { name: uniqueName("deny"), match: { path: "/deny" }, limits, onStoreFailure: "deny" },
    ],
  });
  const remaining = async (path = "/local") => {
    const { states } = fieldsOf(await ask(path));
    return states && Object.values(states)[0]!.r;
  };
  return { state, ask, remaining };
}

it.each<[fault: Fault, failure: string]>([
  ["throws", "NETWORK"],
  ["is overloaded", "OVERLOADED"],
  ["hangs", "TIMEOUT"],
])(
  "an object that %s: every policy answers as it declares, the breaker opens, and closes when it works again",
  async (fault, failure) => {
    const lines = vi.spyOn(console, "warn").mockImplementation(() => {});
    const logged = vi.spyOn(console, "log").mockImplementation(() => {});
    const { state, ask, remaining } = faultyGateway();
    expect([await remaining(), await remaining("/allow"), await remaining("/deny")]).toEqual([9, 9, 9]);

    state.fault = fault;
    // 9 are left: the isolate goes on from the counts that the object told it.
    const statuses = [];
    for (let i = 0; i < 12; i++) statuses.push((await ask("/local")).status);
    expect(statuses).toEqual([...new Array(9).fill(200), 429, 429, 429]);
    expect((await ask("/allow")).status).toBe(200);
    const denied = await ask("/deny");
    expect([denied.status, denied.headers.get("Retry-After")]).toEqual([503, "1"]);
    expect(fieldsOf(await ask("/local")).states).toBeUndefined();

    const breaker = () => lines.mock.calls.map(([line]) => String(line)).filter((line) => line.includes('"breaker"'));
    await expect.poll(breaker, { timeout: 5_000 }).toContainEqual(expect.stringContaining(`"failure":"${failure}"`));
    const calls = state.calls;
    for (let i = 0; i < 50; i++) await ask("/allow");
    expect(state.calls - calls).toBeLessThanOrEqual(2);

    state.fault = "none";
    await expect.poll(() => remaining("/allow"), { timeout: 10_000, interval: 100 }).toBeTypeOf("number");
    expect(breaker().at(-1)).toContain('"state":"closed"');
    const text = [...lines.mock.calls, ...logged.mock.calls].join("\n");
    expect(text).not.toContain("the-key");
  },
  60_000,
);

it("health says that the object is away, and why", async () => {
  vi.spyOn(console, "warn").mockImplementation(() => {});
  const { state, ask } = faultyGateway();
  state.fault = "hangs";
  const answer = await ask("/.headgate/health");
  expect(answer.status).toBe(503);
  expect(await answer.json()).toMatchObject({
    status: "unavailable",
    store: "durable-object",
    counts: { reachable: false, error: "TIMEOUT" },
  });
});
