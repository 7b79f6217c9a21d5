// A busy isolate does not spend a time budget by standing still. After the budget of a call: when the service has
// failed, and when only this isolate was too busy to read the answer. The test sets the timers and the clock.

import { beforeEach, expect, it, vi } from "vitest";
import { freshImport } from "../support/fresh-import.ts";

const BUDGET_MS = 250;
/** How much longer a budget gets, in ms, each time a busy isolate extends it. */
const EXTENSION_MS = 50;
const EXTENSIONS = 40;
/** How much longer a busy isolate waits for an answer. */
const LATE_ANSWER_MS = 2_000;
let budget: typeof import("../../src/kernel/time-budget.ts");

beforeEach(async () => {
  vi.useFakeTimers({ now: 1_700_000_000_000 });
  // Start with a module that knows nothing of earlier tests.
  budget = await freshImport("kernel/time-budget.ts");
});

/** The isolate stands still for this long: the clock goes on, and no timer fires. */
const standStill = (ms: number) => vi.setSystemTime(Date.now() + ms);

it("is spent when its time is up, on an isolate that runs", () => {
  const onSpent = vi.fn();
  budget.spendBudget(BUDGET_MS, onSpent);
  vi.advanceTimersByTime(BUDGET_MS - 1);
  expect(onSpent).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(onSpent).toHaveBeenCalledOnce();
  expect(budget.isIsolateBusy()).toBe(false);
});

it("is not spent by a timer that fired late: what arrived meanwhile can be read first", () => {
  const onSpent = vi.fn();
  budget.spendBudget(BUDGET_MS, onSpent);
  standStill(400);
  vi.advanceTimersByTime(BUDGET_MS);
  expect(onSpent).not.toHaveBeenCalled();
  expect(budget.isIsolateBusy()).toBe(true);
  vi.advanceTimersByTime(EXTENSION_MS);
  expect(onSpent).toHaveBeenCalledOnce();
});

it("is spent in the end, however busy the isolate stays", () => {
  const onSpent = vi.fn();
  budget.spendBudget(BUDGET_MS, onSpent);
  vi.advanceTimersByTime(BUDGET_MS - 1);
  for (let i = 0; i <= EXTENSIONS; i++) {
    expect(onSpent).not.toHaveBeenCalled();
    standStill(100);
    vi.advanceTimersByTime(i === 0 ? 1 : EXTENSION_MS);
  }
  expect(onSpent).toHaveBeenCalledOnce();
});

it("can be ended before, and then is never spent", () => {
  const onSpent = vi.fn();
  const end = budget.spendBudget(BUDGET_MS, onSpent);
  end();
  vi.advanceTimersByTime(10 * BUDGET_MS);
  expect(onSpent).not.toHaveBeenCalled();
});

it("an isolate was busy for a second after its last late timer", () => {
  budget.spendBudget(BUDGET_MS, () => {});
  standStill(400);
  vi.advanceTimersByTime(BUDGET_MS);
  vi.advanceTimersByTime(999);
  expect(budget.isIsolateBusy()).toBe(true);
  vi.advanceTimersByTime(1);
  expect(budget.isIsolateBusy()).toBe(false);
});

/** A call whose budget is spent, and what is known of the service. @param isBusy the isolate stood still meanwhile. */
async function spent(isBusy: boolean) {
  const known: { hasFailed: boolean | undefined } = { hasFailed: undefined };
  const { promise: call, resolve: answer } = Promise.withResolvers<string>();
  const failure = budget
    .withinBudget(call, { budgetMs: BUDGET_MS, timeoutMs: BUDGET_MS })
    .catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(BUDGET_MS - 1);
  // A late timer is looked at again a little later.
  if (isBusy) standStill(400);
  await vi.advanceTimersByTimeAsync(isBusy ? 51 : 1);
  const { late } = (await failure) as InstanceType<typeof budget.OutOfTime>;
  void late.hasFailed.then((hasFailed) => {
    known.hasFailed = hasFailed;
  });
  return { known, answer };
}

it.each([
  ["an isolate that runs, after a second budget", false, BUDGET_MS],
  ["a busy isolate, 2 s after that", true, BUDGET_MS + LATE_ANSWER_MS],
])("a service without an answer has failed for %s", async (_who, isBusy, afterMs) => {
  const { known } = await spent(isBusy);
  await vi.advanceTimersByTimeAsync(afterMs - 1);
  expect(known.hasFailed).toBeUndefined();
  await vi.advanceTimersByTimeAsync(1);
  expect(known.hasFailed).toBe(true);
});

it.each([
  ["within a second budget", false, BUDGET_MS - 1],
  ["that a busy isolate reads after its second budget", true, BUDGET_MS + LATE_ANSWER_MS - 1],
])("an answer %s shows that the service is well", async (_when, isBusy, afterMs) => {
  const { known, answer } = await spent(isBusy);
  await vi.advanceTimersByTimeAsync(afterMs);
  answer("PONG");
  await vi.advanceTimersByTimeAsync(0);
  expect(known.hasFailed).toBe(false);
});
