// Stories of counts: isolates and places, strict and leased, weighted costs, reservations that are extended, slots,
// resets, faults and clock steps. `FUZZ_RUNS=5000 FUZZ_SEED=7` draws more stories, and others.

import fc from "fast-check";
import { expect, it } from "vitest";
import { draws } from "../../../support/cases/draws.ts";
import { broken } from "./oracle.ts";
import { live, stories } from "./story.ts";

const RUNS = { ...draws(Number(process.env.FUZZ_RUNS ?? 600)), seed: Number(process.env.FUZZ_SEED ?? 14) };

it.each(["strict", "leased", "crowded"] as const)(
  "%s: every story keeps its promises",
  async (kind) => {
    const property = fc.asyncProperty(stories(kind), async (story) => {
      expect(broken(await live(story))).toEqual([]);
    });
    await fc.assert(property, RUNS);
  },
  600_000,
);
