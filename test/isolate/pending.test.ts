// What requests have begun and not ended, by key.

import { expect, it } from "vitest";
import { createPending } from "../../src/isolate/pending.ts";

const FORGOTTEN_MS = 1_000;

/** Something that notes how often anybody asks for its age. */
function noted(atMs: number, asked: () => void) {
  return {
    get atMs() {
      asked();
      return atMs;
    },
  };
}

it("what never ended costs later requests nothing, though nothing more begins under its key", () => {
  const pending = createPending(FORGOTTEN_MS);
  let asks = 0;
  const ask = () => {
    asks++;
  };
  for (let i = 0; i < 1_000; i++) pending.begin("k", noted(i / 1_000, ask));
  expect([...pending.recent("k", FORGOTTEN_MS - 1)]).toHaveLength(1_000);
  expect([...pending.recent("k", FORGOTTEN_MS + 1)]).toEqual([]);
  asks = 0;
  expect([...pending.recent("k", FORGOTTEN_MS + 1)]).toEqual([]);
  expect(asks).toBe(0);
  expect([...pending.all("k")]).toEqual([]);
});

it("after a step back of the clock each one is forgotten in its own time", () => {
  const pending = createPending(FORGOTTEN_MS);
  const [before, after] = [{ atMs: 900 }, { atMs: 0 }];
  pending.begin("k", before);
  pending.begin("k", after);
  expect([...pending.recent("k", 850)]).toEqual([before, after]);
  expect([...pending.recent("k", 1_050)]).toEqual([before]);
});
