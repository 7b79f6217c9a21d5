import fc from "fast-check";
import { expect, it } from "vitest";
import { draws } from "../support/cases/draws.ts";
import { mostWithin } from "../support/most-within.ts";
import { virtualTime } from "../support/virtual-time.ts";

it("runs events by their instant, and those of one instant in the order in which they were made", async () => {
  const instants = fc.array(fc.integer({ min: 0, max: 30 }), { maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(instants, async (atMs) => {
      const time = virtualTime(0);
      const ran: [number, number][] = [];
      for (const [i, ms] of atMs.entries()) {
        time.at(ms, () => {
          expect(time.nowMs()).toBe(ms);
          ran.push([ms, i]);
        });
      }
      await time.runUntil(30);
      expect(ran).toEqual(atMs.map((ms, i) => [ms, i] as [number, number]).sort((a, b) => a[0] - b[0] || a[1] - b[1]));
    }),
    draws(100),
  );
});

it("lets all that an event has set off settle before the next one", async () => {
  const time = virtualTime(0);
  const said: string[] = [];
  const deep = async (name: string, depth: number): Promise<void> => {
    if (depth > 0) return await deep(name, depth - 1);
    said.push(name);
  };
  time.at(5, () => void deep("first", 50));
  time.at(5, () => void deep("second", 0));
  await time.runUntil(5);
  expect(said).toEqual(["first", "second"]);
});

it("runs what is set off within the time, and leaves the rest", async () => {
  const time = virtualTime(100);
  const woken: number[] = [];
  const sleeper = async () => {
    for (;;) {
      await time.sleep(10);
      woken.push(time.nowMs());
    }
  };
  void sleeper();
  time.at(0, () => woken.push(time.nowMs()));
  await time.runUntil(125);
  expect([woken, time.nowMs()]).toEqual([[100, 110, 120], 125]);
  await time.runUntil(130);
  expect(woken).toEqual([100, 110, 120, 130]);
});

it("the most within a span is the most that counting from every instant finds", () => {
  const instants = fc.array(fc.integer({ min: 0, max: 60 }), { maxLength: 40 });
  fc.assert(
    fc.property(instants, fc.integer({ min: 1, max: 30 }), (unsorted, spanMs) => {
      const atMs = unsorted.sort((a, b) => a - b);
      const counts = atMs.map((from) => atMs.filter((ms) => ms >= from && ms < from + spanMs).length);
      expect(mostWithin(atMs, spanMs)).toBe(Math.max(0, ...counts));
    }),
    draws(100),
  );
});
