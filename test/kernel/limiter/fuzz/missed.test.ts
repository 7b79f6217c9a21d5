// Late replies, refusals of the moment, background returns, and two configurations at once: see missed.ts.

import fc from "fast-check";
import { expect, it } from "vitest";
import { draws } from "../../../support/cases/draws.ts";
import { differences, missedStories } from "./missed.ts";

it("the store holds exactly what was paid, whatever it has missed meanwhile", async () => {
  const property = fc.asyncProperty(missedStories(), async (story) => {
    expect(await differences(story)).toEqual([]);
  });
  await fc.assert(property, { ...draws(100), seed: 14 });
});
