// After the budget of a call: when the service has failed, and when only this isolate was too busy to read the answer.

import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { freshImport } from "../support/fresh-import.ts";

const BUDGET_MS = 250;
/** How much longer a busy isolate waits for an answer. */
const LATE_ANSWER_MS = 2_000;
let budget: typeof import("../../src/kernel/time-budget.ts");
/** Answers the one call. */
let answer: () => void;

beforeEach(async () => {
  vi.useFakeTimers({ now: 1_700_000_000_000 });
  // What an isolate knows of itself begins anew.
  budget = await freshImport("kernel/time-budget.ts");
});
afterEach(() => void vi.useRealTimers());

/** A call whose budget is spent, and what is known of the service. @param isBusy the isolate stood still meanwhile. */
async function spent(isBusy: boolean): Promise<{ hasFailed: boolean | undefined }> {
  const known: { hasFailed: boolean | undefined } = { hasFailed: undefined };
  const call = new Promise<string>((resolve) => {
    answer = () => resolve("PONG");
  });
  const failure = budget
    .withinBudget(call, { budgetMs: BUDGET_MS, timeoutMs: BUDGET_MS })
    .catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(BUDGET_MS - 1);
  // A late timer is looked at again a little later.
  if (isBusy) vi.setSystemTime(Date.now() + 400);
  await vi.advanceTimersByTimeAsync(isBusy ? 51 : 1);
  const { late } = (await failure) as InstanceType<typeof budget.OutOfTime>;
  void late.hasFailed.then((hasFailed) => {
    known.hasFailed = hasFailed;
  });
  return known;
}

it("a service without an answer within a second budget has failed", async () => {
  const known = await spent(false);
  await vi.advanceTimersByTimeAsync(BUDGET_MS - 1);
  expect(known.hasFailed).toBeUndefined();
  await vi.advanceTimersByTimeAsync(1);
  expect(known.hasFailed).toBe(true);
});

it("for a busy isolate it has failed 2 s later", async () => {
  const known = await spent(true);
  await vi.advanceTimersByTimeAsync(BUDGET_MS + LATE_ANSWER_MS - 1);
  expect(known.hasFailed).toBeUndefined();
  await vi.advanceTimersByTimeAsync(1);
  expect(known.hasFailed).toBe(true);
});

it.each([
  ["within a second budget", false, BUDGET_MS - 1],
  ["that a busy isolate reads after its second budget", true, BUDGET_MS + LATE_ANSWER_MS - 1],
])("an answer %s shows that the service is well", async (_when, isBusy, afterMs) => {
  const known = await spent(isBusy);
  await vi.advanceTimersByTimeAsync(afterMs);
  answer();
  await vi.advanceTimersByTimeAsync(0);
  expect(known.hasFailed).toBe(false);
});
