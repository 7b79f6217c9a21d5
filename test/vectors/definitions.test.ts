// The stories of this folder follow from the definitions of their algorithms. Those of sliding windows have another
// definition (test/kernel/core/oracle-forced.test.ts), and periods of a calendar are searched for
// (test/kernel/core/periods.test.ts). A new story gets its numbers from a failure of this test.

import { expect, it } from "vitest";
import { bucketModel, EXACT, fixedWindow, type Numbers, type Op, slidingLog, slotModel, take } from "./definitions.ts";

interface Story {
  readonly steps: readonly Readonly<Record<string, unknown>>[];
  readonly [number: string]: unknown;
}

const ofUnits =
  (model: ReturnType<typeof fixedWindow>) =>
  (atMs: bigint, { cost }: Story["steps"][number]) =>
    take(model, atMs, BigInt(cost as number));

/** What answers each step of a story under these numbers. */
const ANSWERS = {
  "fixed-window": (numbers: Numbers) => ofUnits(fixedWindow(numbers)),
  "sliding-log": (numbers: Numbers) => ofUnits(slidingLog(numbers)),
  "token-bucket": (numbers: Numbers) => ofUnits(bucketModel(numbers)),
  "leaky-bucket": (numbers: Numbers) => ofUnits(bucketModel(numbers)),
  concurrency: (numbers: Numbers) => {
    const { step } = slotModel(numbers);
    return (atMs: bigint, { op, slot }: Story["steps"][number]) => step(atMs, op as Op, BigInt(slot as number));
  },
};

/** bigints as the integers of JSON. */
const plain = (step: object) =>
  Object.fromEntries(
    Object.entries(step).map(([name, value]) => [name, typeof value === "bigint" ? Number(value) : value]),
  );

it.each(Object.keys(ANSWERS) as (keyof typeof ANSWERS)[])("every story of %s", async (name) => {
  const { stories } = (await import(`./${name}.json`, { with: { type: "json" } })).default as { stories: Story[] };
  for (const { steps, ...written } of stories) {
    const numbers = Object.fromEntries(Object.entries(written).map(([name, value]) => [name, BigInt(value as number)]));
    const { limit = 0n, windowMs = 0n, burst = 0n, maxDelayMs = 0n } = numbers;
    // An implementation in doubles can hold them.
    expect(limit * windowMs < EXACT && burst * windowMs + maxDelayMs * limit < EXACT).toBe(true);
    const answer = ANSWERS[name](numbers);
    expect(steps).toEqual(steps.map((step) => plain(answer(BigInt(step.atMs as number), step))));
  }
});
