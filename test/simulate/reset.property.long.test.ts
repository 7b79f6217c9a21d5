// Resets in the middle of leased traffic. A reset ends the leases from before it, in every isolate that can know of the
// reset.

import fc from "fast-check";
import { expect, it } from "vitest";
import { createWorld } from "../../scripts/simulate/world.ts";
import { Kind } from "../../src/kernel/core/algorithm.ts";
import { ENFORCED } from "../../src/kernel/core/take.ts";
import { draws, expectReached } from "../support/cases/draws.ts";
import { virtualTime } from "../support/virtual-time.ts";

/** The beginning of a window, in ms since the epoch. */
const START_MS = 1_800_000_000_000;
const WINDOW_MS = 10_000;
const LIMIT = 300;

interface Story {
  /** The delay one way to the store, in ms, for each isolate. */
  readonly delaysMs: readonly number[];
  /** Bursts: each sends requests, 1 ms apart, from one isolate, from an instant of the window on. */
  readonly bursts: readonly { readonly isolate: number; readonly atMs: number; readonly requests: number }[];
  readonly resets: readonly { readonly isolate: number; readonly atMs: number }[];
}

function stories(isolates: number): fc.Arbitrary<Story> {
  const isolate = fc.nat(isolates - 1);
  const atMs = fc.integer({ min: 0, max: WINDOW_MS - 1_500 });
  return fc.record({
    delaysMs: fc.array(fc.integer({ min: 1, max: 80 }), { minLength: isolates, maxLength: isolates }),
    bursts: fc.array(fc.record({ isolate, atMs, requests: fc.integer({ min: 20, max: 300 }) }), {
      minLength: 3,
      maxLength: 10,
    }),
    resets: fc.array(fc.record({ isolate, atMs }), { minLength: 1, maxLength: 3 }),
  });
}

/**
 * A reset: when it was called, when it was done, and the units of this window that isolates had in stock when it was
 * done.
 */
interface Done {
  readonly calledAtMs: number;
  readonly doneAtMs: number;
  readonly held: number;
}

async function tell({ delaysMs, bursts, resets }: Story) {
  const time = virtualTime(START_MS);
  const world = createWorld(time, true);
  const isolates = delaysMs.map((delayMs) => world.isolate({ delayMs: () => delayMs }));
  const keys = [
    {
      key: "k",
      group: ENFORCED,
      cost: 1,
      limits: [{ kind: Kind.fixedWindow, limit: LIMIT, windowMs: WINDOW_MS } as const],
    },
  ];
  const admittedAtMs: number[] = [];
  const done: Done[] = [];
  for (const { isolate, atMs, requests } of bursts) {
    for (let n = 0; n < requests; n++) {
      time.at(START_MS + atMs + n, async () => {
        const { reply } = await isolates[isolate]!.take(keys, "leased");
        if (reply.allowed) admittedAtMs.push(time.nowMs());
      });
    }
  }
  for (const { isolate, atMs } of resets) {
    time.at(START_MS + atMs, async () => {
      const calledAtMs = time.nowMs();
      await isolates[isolate]!.reset(["k"]);
      const charged = world.bookings.reduce((sum, { units }) => sum + units, 0);
      done.push({ calledAtMs, doneAtMs: time.nowMs(), held: charged - admittedAtMs.length });
    });
  }
  await time.runUntil(START_MS + WINDOW_MS - 1);
  return { admittedAtMs, done: done.sort((a, b) => a.doneAtMs - b.doneAtMs) };
}

/** For each reset: units admitted between its end and the next reset's call, and the units in stock. */
async function since(story: Story): Promise<{ admitted: number; held: number }[]> {
  const { admittedAtMs, done } = await tell(story);
  return done.map(({ doneAtMs, held }) => {
    // Resets may overlap: the next reset may have been called before this one was done.
    const next = done.filter((other) => other.doneAtMs > doneAtMs).map(({ calledAtMs }) => calledAtMs);
    const endMs = Math.min(START_MS + WINDOW_MS, ...next);
    // The next reset ends this span.
    return { held, admitted: admittedAtMs.filter((atMs) => atMs > doneAtMs && atMs < endMs).length };
  });
}

it("the isolate that resets spends and gives back nothing that it had leased before", async () => {
  let usedUp = 0;
  await fc.assert(
    fc.asyncProperty(stories(1), async (story) => {
      for (const { admitted } of await since(story)) {
        expect(admitted).toBeLessThanOrEqual(LIMIT);
        if (admitted > 0.9 * LIMIT) usedUp++;
      }
    }),
    draws(40),
  );
  expectReached(usedUp, 10);
});

it("of several isolates no more is admitted after a reset than the limit and all that they had in stock", async () => {
  let usedUp = 0;
  await fc.assert(
    fc.asyncProperty(stories(4), async (story) => {
      for (const { admitted, held } of await since(story)) {
        expect(admitted).toBeLessThanOrEqual(LIMIT + held);
        if (admitted > 0.9 * LIMIT) usedUp++;
      }
    }),
    // Of 40 cases, once in 50,000 runs too few use up the limit.
    draws(60),
  );
  expectReached(usedUp, 10);
});
