// Histories of a store that are known to be right, and known to be wrong.

import fc from "fast-check";
import { expect, it } from "vitest";
import type { StoreOperation, TakeOperation } from "../../../scripts/verify/histories/history.ts";
import { checkLinearizable } from "../../../scripts/verify/histories/linearizable.ts";
import type { LimitSpec } from "../../../src/kernel/core/algorithms.ts";
import { Kind } from "../../../src/kernel/core/layout.ts";
import { Flag, type KeyRequest, type LimitReply, type TakeRequest } from "../../../src/kernel/core/take.ts";
import type { FixedWindowRecord } from "../../../src/kernel/core/window.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { draws } from "../../support/cases/draws.ts";
import { BEGIN_MS, call, historyOf, LIMIT, look, reset, type Span } from "./by-hand.ts";

type Named = Readonly<Record<string, readonly StoreOperation[]>>;

/** Whatever else a right store does is drawn below, and so is each count that is wrong. */
const GOOD: Named = {
  "calls that overlap run in either order": [
    call([0, 100], [2], { atMs: 60 }),
    call([10, 90], [1], { atMs: 50, process: 1 }),
    look([110, 120], 2),
  ],
  "a call of an object that died ran before that": [
    call([0], [], { process: 1, untilMs: 15 }),
    look([5, 10], 0),
    look([20, 30], 1),
  ],
  "a reset and a take overlap": [
    call([0, 10], [3], { of: { k: 3 } }),
    reset([20, 60]),
    call([30, 50], [1], { process: 1 }),
    look([70, 80], 1),
  ],
  "nothing of a decision over two keys is charged if one of them refuses": [
    call([0, 10], [4], { of: { k: 4 } }),
    call([20, 30], [{ refuses: 4 }, 0], { of: { k: 2, other: 2 } }),
    look([40, 50], 4),
    look([60, 70], 0, { of: { other: 1 } }),
  ],
};

const BAD: Named = {
  "a charge is lost": [call([0, 10], [1]), call([20, 30], [2]), look([40, 50], 1)],
  "nothing explains a refusal": [call([0, 10], [1]), call([20, 30], [{ refuses: LIMIT }]), look([40, 50], 1)],
  "a call without an answer took effect twice": [call([0], [], { process: 1 }), look([10, 20], 1), look([30, 40], 2)],
  "half of a decision is charged": [
    call([0, 10], [4], { of: { k: 4 } }),
    call([20, 30], [{ refuses: 4 }, 0], { of: { k: 2, other: 2 } }),
    look([40, 50], 2, { of: { other: 1 } }),
  ],
  "a call of an object that had died takes effect": [
    call([0], [], { process: 1, untilMs: 15 }),
    look([20, 30], 0),
    look([40, 50], 1),
  ],
  "a reset forgets nothing": [call([0, 10], [2], { of: { k: 2 } }), reset([20, 30]), look([40, 50], 2)],
  "the store decides at an instant outside of its call": [call([10, 20], [1], { atMs: 25 })],
  "the store's clock goes back": [
    call([0, 100], [1], { atMs: 90 }),
    look([5, 40], 1, { process: 1, atMs: 30 }),
    look([110, 120], 1),
  ],
};

it.each(Object.keys(GOOD))("accepts: %s", (name) => {
  expect(checkLinearizable(historyOf(GOOD[name]!)).violations).toEqual([]);
});

it.each(Object.keys(BAD))("refuses: %s", (name) => {
  expect(checkLinearizable(historyOf(BAD[name]!)).violations).toHaveLength(1);
});

it("tells where no order goes on, and what the core would answer", () => {
  const [story] = checkLinearizable(historyOf(BAD["a charge is lost"]!)).violations;
  expect(story!.split("\n")).toEqual([
    "no order of 3 calls of k explains their answers",
    expect.stringMatching(/^ {2}then process 0 at store takes 1 of k \(0\.000 ms to 10\.001 ms\): admitted at/),
    expect.stringMatching(/^ {2}then process 0 at store takes 1 of k .* count 2$/),
    expect.stringMatching(/^ {2}now it holds k: .*"count":2/),
    expect.stringMatching(/^ {2}next may be process 0 at store looks with a cost of 1 of k .* count 1$/),
    expect.stringMatching(/^ {4}but the core would answer: admitted at .* count 2$/),
  ]);
});

it("checks keys that no call touches together by themselves", () => {
  const operations = [...GOOD["calls that overlap run in either order"]!, call([0, 10], [1], { of: { other: 1 } })];
  expect(checkLinearizable(historyOf(operations))).toMatchObject({ groups: 2, calls: 4, violations: [] });
});

it("checks a repayment of several keys key by key, and still sees a wrong count", () => {
  const repaid = (told: readonly number[]) =>
    call([20, 30], told, { of: { k: 2, other: 3 }, flag: Flag.chargeAnyway, process: 1 });
  const before = [call([0, 10], [1]), call([0, 10], [2], { of: { other: 2 } })];
  expect(checkLinearizable(historyOf([...before, repaid([3, 5])]))).toMatchObject({ groups: 2, violations: [] });
  expect(checkLinearizable(historyOf([...before, repaid([3, 4])])).violations).toHaveLength(1);
});

/** What a right store answers. Without the end of its span the answer gets lost. */
function answering() {
  const store = memoryStore();
  return async (span: Span, atMs: number, keys: readonly KeyRequest[], flag: Flag = Flag.take) => {
    const operation = call(span, [0], { flag, process: atMs });
    const input: TakeRequest = { keys, flag, slot: atMs };
    const output = await store.take(input, BEGIN_MS + atMs);
    return { ...operation, input, ...(operation.output && { output }) };
  };
}

it("finds the instant of a call without an answer that only another such call makes visible", async () => {
  const [slow, day]: LimitSpec[] = [
    { kind: Kind.bucket, limit: 9, windowMs: 31 * 86_400_000, burst: 9, maxDelayMs: 0 },
    { kind: Kind.fixedWindow, limit: LIMIT, windowMs: 86_400_000 },
  ];
  const asked = answering();
  const bucket: KeyRequest = { key: "bucket", group: 0, cost: 1, limits: [slow!] };
  const window: KeyRequest = { key: "window", group: 0, cost: 1, limits: [day!] };
  const operations = [
    await asked([5], 10, [bucket]),
    await asked([15], 20, [bucket, window]),
    await asked([30, 40], 35, [window], Flag.look),
    await asked([100, 110], 105, [bucket], Flag.look),
  ];
  expect(checkLinearizable(historyOf(operations)).violations).toEqual([]);
});

it("finds the instant of a call without an answer between the end of one unit and a reply that lacks its own", async () => {
  const asked = answering();
  const slot: KeyRequest = {
    ...{ key: "slots", group: 0, cost: 1 },
    limits: [{ kind: Kind.concurrency, limit: 1, timeoutMs: 50 }],
  };
  const operations = [
    await asked([5, 15], 10, [slot]),
    await asked([12], 65, [slot]),
    await asked([95, 105], 100, [slot]),
    await asked([115, 120], 118, [slot], Flag.look),
  ];
  expect(operations.map(({ output }) => output?.allowed)).toEqual([true, undefined, false, true]);
  expect(checkLinearizable(historyOf(operations)).violations).toEqual([]);
});

const drawnCall = fc.record({
  flag: fc.constantFrom(Flag.take, Flag.take, Flag.chargeAnyway, Flag.giveBack, Flag.look),
  cost: fc.integer({ min: 1, max: 3 }),
  keys: fc.constantFrom(["k"], ["other"], ["k", "other"]),
  beforeMs: fc.integer({ min: 0, max: 40 }),
  afterMs: fc.integer({ min: 1, max: 40 }),
  isAnswered: fc.boolean(),
});

type DrawnCall = typeof drawnCall extends fc.Arbitrary<infer C> ? C : never;

/** What a right store answers whose calls each run at one instant; some answers get lost. */
async function answered(calls: readonly DrawnCall[], loses: boolean): Promise<TakeOperation[]> {
  const store = memoryStore();
  const operations: TakeOperation[] = [];
  for (const [i, { flag, cost, keys, beforeMs, afterMs, isAnswered }] of calls.entries()) {
    const atMs = 100 + 3 * i;
    const of = Object.fromEntries(keys.map((key) => [key, cost]));
    const asked = { flag, of, process: i, atMs };
    const span = [atMs - beforeMs, loses && !isAnswered ? undefined : atMs + afterMs] as const;
    const operation = call(span as Span, [0], asked);
    const output = await store.take(operation.input, BEGIN_MS + atMs);
    operations.push({ ...operation, ...(operation.output && { output }) });
  }
  return distinct(operations);
}

it("accepts whatever a right store does, with lost answers too", async () => {
  const property = fc.asyncProperty(fc.array(drawnCall, { maxLength: 25 }), async (calls) => {
    expect(checkLinearizable(historyOf(await answered(calls, true))).violations).toEqual([]);
  });
  await fc.assert(property, draws(300));
});

it("refuses a count that is wrong by 1, wherever it is told", async () => {
  const told = fc.array(drawnCall, { minLength: 1, maxLength: 12 });
  const property = fc.asyncProperty(told, fc.nat(), async (calls, drawn) => {
    // One after another: nothing else can explain the count.
    const alone = calls.map((one) => ({ ...one, beforeMs: 0, afterMs: 1 }));
    const operations = await answered(alone, false);
    const at = drawn % operations.length;
    const { input, output } = operations[at]!;
    const k = drawn % input.keys.length;
    const [reply] = output!.keys[k] as [LimitReply];
    const view = { ...reply.view, count: (reply.view as FixedWindowRecord).count + 1 };
    const wrong = {
      ...operations[at]!,
      input,
      output: { ...output!, keys: output!.keys.with(k, [{ ...reply, view }]) },
    };
    expect(checkLinearizable(historyOf(operations.with(at, wrong))).violations).toHaveLength(1);
  });
  await fc.assert(property, draws(200));
});

it("is quick where many calls overlap, and in a long history", () => {
  // Twelve calls at once have 479,001,600 orders.
  const atOnce = Array.from({ length: 12 }, (_, p) =>
    call([0, 100], [{ refuses: 0 }], { of: { k: 9 }, atMs: 50, process: p }),
  );
  expect(checkLinearizable(historyOf(distinct(atOnce))).pairs).toBeLessThan(100);
  const long = Array.from({ length: 20_000 }, (_, i) => call([2 * i, 2 * i + 3], [{ refuses: 0 }], { of: { k: 9 } }));
  expect(checkLinearizable(historyOf(distinct(long)))).toMatchObject({ calls: 20_000, violations: [] });
});

/** No two events have the same instant. */
function distinct<O extends StoreOperation>(operations: readonly O[]): O[] {
  return operations.map((one, i) => {
    const more = (i % 900) / 1_000;
    return { ...one, call: one.call + more, ...(one.return !== undefined && { return: one.return + more }) };
  });
}
