// One fault in the life of a gateway, from outside: before, during, after, and then the same fault again. What must
// hold is the same for all of them.

import { expect, onTestFinished } from "vitest";
import { fieldsOf } from "../cases/fields.ts";
import { type Gateway, startGateway, uniqueName } from "../gateway/gateway.ts";
import { FAULTS, type Fault, startFaultRig } from "./fault-rig.ts";

const LIMIT = 1_000_000;
const limits = [{ limit: LIMIT, window: "1d", oldest: "whole" }];
/** Beside slots, which are released during the fault and after it, and are never repaid. */
const withSlots = [...limits, { algorithm: "concurrency", limit: 1_000 }];
/** No answer takes this much longer than the budget, on however busy a machine. */
const HANGS_AFTER_MS = 8_000;
const DURING = 24;
/** Of a fault that makes each answer slow. */
const DURING_SLOW = 8;
/** Five calls open the breaker, then there is one probe about every second. */
const MAY_HAVE_RUN = 12;
/** So often the same count: nothing comes after it. */
const SETTLED = 10;

/**
 * Time budgets: short for a fault that takes time, long for the others, for which a busy machine must not look like a
 * fault.
 */
const BUDGET_MS: { readonly [fault in Fault]?: number } = { blackholed: 200, slow: 250 };
const LONG_BUDGET_MS = 5_000;

/** A gateway whose Redis is private and behind the fault proxy. */
export async function startFaultyGateway(policies: readonly object[], budgetMs: number, regions = 1, vars = {}) {
  const rig = await startFaultRig();
  onTestFinished(() => rig.close());
  const start = () => startGateway({ redis: rig.rest, policies, vars: { REDIS_TIMEOUT_MS: budgetMs, ...vars } });
  const gateways = await Promise.all(Array.from({ length: regions }, start));
  return { rig, gateways, gateway: gateways[0]! };
}

export async function tell(fault: Fault): Promise<void> {
  const budgetMs = BUDGET_MS[fault] ?? LONG_BUDGET_MS;
  const name = uniqueName("f");
  const policy = (path: string, more: object) => ({
    name: `${name}-${path}`,
    match: { path: `/${path}` },
    limits,
    ...more,
  });
  const { rig, gateway } = await startFaultyGateway(
    [
      policy("local", { limits: withSlots }),
      policy("allow", { onStoreFailure: "allow" }),
      policy("deny", { onStoreFailure: "deny" }),
      { ...policy("mixed", { onStoreFailure: "deny" }), match: { path: "/allow-too" } },
      { ...policy("mixed-allow", { onStoreFailure: "allow" }), match: { path: "/allow-too" } },
    ],
    budgetMs,
  );
  const ask = asker(gateway, `${name}-local-1`, budgetMs);

  // Before: exact.
  for (let i = 1; i <= 3; i++) expect((await ask("/local")).used).toBe(i);
  let admitted = 3;
  let uncounted = 0;
  let before = 0;

  for (const outage of ["first", "second"]) {
    await rig.begin(fault);
    for (let i = 0; i < (fault === "slow" ? DURING_SLOW : DURING); i++) {
      // Answers can only be exchanged if two are under way; the other one's is longer.
      const [answer] = await Promise.all([ask("/local"), ...(fault === "swapped" ? [ask("/allow-too")] : [])]);
      // A limit this large refuses no request. Answers show numbers only if Redis counted.
      expect(answer.status).toBe(200);
      admitted++;
      if (answer.used === undefined) uncounted++;
    }
    for (const path of outage === "first" ? ["/allow", "/deny", "/allow-too"] : []) {
      for (let i = 0; i < 3; i++) {
        const { status, isCounted, retryAfter } = await ask(path);
        const denied = !isCounted && path !== "/allow";
        expect([path, status, retryAfter]).toEqual([path, denied ? 503 : 200, denied ? 1 : undefined]);
      }
    }
    await rig.end();

    // After: the store answers again, and what it had not counted is charged once.
    await expect.poll(async () => counted(ask), { timeout: 15_000, interval: 50 }).toBe(true);
    before = await expectExact(ask, { fault, admitted: before + admitted, uncounted });
    [admitted, uncounted] = [0, 0];
  }

  async function counted(one: Ask): Promise<boolean> {
    const { status, used } = await one("/local");
    expect(status).toBe(200);
    admitted++;
    if (used === undefined) uncounted++;
    return used !== undefined;
  }
}

interface Answered {
  readonly status: number;
  /** The answer shows numbers: Redis has counted it. */
  readonly isCounted: boolean;
  /** Of the policy `local`, by Redis. */
  readonly used: number | undefined;
  readonly retryAfter: number | undefined;
}
type Ask = (path: string) => Promise<Answered>;

function asker(gateway: Gateway, id: string, budgetMs: number): Ask {
  return async (path) => {
    const startMs = performance.now();
    const answer = await gateway.fetch(path);
    await answer.arrayBuffer();
    expect(performance.now() - startMs).toBeLessThan(budgetMs + HANGS_AFTER_MS);
    const { states, retryAfter } = fieldsOf(answer);
    const left = states?.[id]?.r;
    return {
      status: answer.status,
      isCounted: states !== undefined,
      used: left === undefined ? undefined : LIMIT - Number(left),
      retryAfter,
    };
  };
}

/**
 * Redis has counted what was admitted: no unit twice, and no unit lost whose call was known not to have run.
 *
 * @returns what is used by now, what this has asked included.
 */
async function expectExact(
  ask: Ask,
  { fault, admitted, uncounted }: { fault: Fault; admitted: number; uncounted: number },
): Promise<number> {
  let since = 0;
  let same = 0;
  let used = Number.NaN;
  while (same < SETTLED) {
    since++;
    const now = (await ask("/local")).used! - since;
    same = now === used ? same + 1 : 0;
    used = now;
    expect(since).toBeLessThan(1_000);
  }
  expect(used).toBeLessThanOrEqual(admitted);
  // Redis has lost what it had: there is nothing to compare with.
  if (fault === "restarted-empty" || fault === "wrong-type") return used + since;
  const isKnown = FAULTS[fault] !== "never-runs" && !(fault in BUDGET_MS);
  expect(used).toBeGreaterThanOrEqual(admitted - (isKnown ? 0 : Math.min(uncounted, MAY_HAVE_RUN)));
  return used + since;
}
