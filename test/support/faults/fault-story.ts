// One fault in the life of a gateway, seen from outside: before, during, after, and then the same fault again. The same
// promises hold for every fault.

import { expect, onTestFinished } from "vitest";
import { fieldsOf } from "../cases/fields.ts";
import { type Gateway, startGateway, uniqueName } from "../gateway/gateway.ts";
import { FAULTS, type Fault, startFaultRig } from "./fault-rig.ts";

const LIMIT = 1_000_000;
const limits = [{ limit: LIMIT, window: "1d", oldest: "whole" }];
/** The same limits, with slots. Slots are released during and after the fault, and never charged later. */
const withSlots = [...limits, { algorithm: "concurrency", limit: 1_000 }];
/** The client is named by the body, in several ways. */
const BY_BODY = { key: ["body:user.name"], fold: true, match: { path: "/local", body: { model: "gpt-*" } } };
const NAMES = ["Ann", " ann", "ANN ", "\uff21nn"];
/** No answer takes longer than the time budget plus this, even on a busy machine. */
const HANGS_AFTER_MS = 8_000;
const DURING = 24;
/** The number of requests during a fault that makes each answer slow. */
const DURING_SLOW = 8;
/**
 * The most calls per outage with an unknown outcome: 5 open the breaker, then about 1 probe a second. A gateway that
 * hardly gets to run learns later that a call has failed: then it is as many as the fault has met.
 */
const MAY_HAVE_RUN = 12;
/** After this many equal counts in a row, no more repayments are expected. */
const SETTLED = 10;

/**
 * Time budgets of the gateway. Short for a fault that takes time. Long for the others, so that a busy machine does not
 * look like a fault.
 */
const BUDGET_MS: { readonly [fault in Fault]?: number } = { blackholed: 200, slow: 250 };
const LONG_BUDGET_MS = 5_000;

/** A gateway with a private Redis behind the fault proxy. */
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
      policy("local", { limits: withSlots, ...BY_BODY }),
      policy("allow", { onStoreFailure: "allow" }),
      policy("deny", { onStoreFailure: "deny" }),
      { ...policy("mixed", { onStoreFailure: "deny" }), match: { path: "/allow-too" } },
      { ...policy("mixed-allow", { onStoreFailure: "allow" }), match: { path: "/allow-too" } },
    ],
    budgetMs,
  );
  const ask = asker(gateway, `${name}-local-1`, budgetMs);

  // Before the fault, the counts are exact.
  for (let i = 1; i <= 3; i++) expect((await ask("/local")).used).toBe(i);
  let admitted = 3;
  let uncounted = 0;
  let before = 0;

  for (const outage of ["first", "second"]) {
    await rig.begin(fault);
    for (let i = 0; i < (fault === "slow" ? DURING_SLOW : DURING); i++) {
      // Two answers must be under way at the same time to be exchanged. The answer for two policies has another length.
      const [answer] = await Promise.all([ask("/local"), ...(fault === "swapped" ? [ask("/allow-too")] : [])]);
      // The limit is so large that it refuses no request. An answer shows numbers only if Redis counted the request.
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
    // Of some of these nobody can know whether they ran.
    const { met } = rig.proxy;
    await rig.end();

    // After the fault the store answers again. Requests that it did not count are charged once.
    await expect.poll(async () => counted(ask), { timeout: 15_000, interval: 50 }).toBe(true);
    before = await expectExact(ask, { fault, admitted: before + admitted, uncounted, met });
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
  /** The answer shows numbers, because Redis has counted the request. */
  readonly isCounted: boolean;
  /** Used units of the policy `local`, as Redis counts them. */
  readonly used: number | undefined;
  readonly retryAfter: number | undefined;
}
type Ask = (path: string) => Promise<Answered>;

function asker(gateway: Gateway, id: string, budgetMs: number): Ask {
  let asked = 0;
  return async (path) => {
    const startMs = performance.now();
    const body = JSON.stringify({ model: "gpt-5", user: { name: NAMES[asked++ % NAMES.length] } });
    const answer = await gateway.fetch(path, path === "/local" ? { method: "POST", body } : {});
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
 * Checks what Redis has counted. No unit is counted twice. No unit is lost if the gateway knew that its call had not
 * run.
 *
 * @returns the units used by now, including the requests of this function.
 */
async function expectExact(
  ask: Ask,
  { fault, admitted, uncounted, met }: { fault: Fault; admitted: number; uncounted: number; met: number },
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
  // Redis has lost its data: there is nothing to compare with.
  if (fault === "restarted-empty" || fault === "wrong-type") return used + since;
  const isKnown = FAULTS[fault] !== "never-runs" && !(fault in BUDGET_MS);
  const mayHaveRun = isKnown ? 0 : Math.min(uncounted, Math.max(MAY_HAVE_RUN, met));
  expect(used).toBeGreaterThanOrEqual(admitted - mayHaveRun);
  return used + since;
}
