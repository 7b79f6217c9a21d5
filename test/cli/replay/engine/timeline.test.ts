// How many steps a timeline has.

import { describe, expect, it } from "vitest";
import { TimeAxis } from "../../../../src/cli/replay/engine/timeline.ts";
import { START_MS } from "./logs.ts";

describe("the steps of a time axis", () => {
  it("keep a timeline in at most 240 steps, of all requests", () => {
    const axis = new TimeAxis();
    const line = axis.line();
    for (let i = 0; i < 1_000; i++) line.admitted[axis.stepOf(START_MS + i * i * 10)]!++;
    const { stepMs, admitted } = axis.timeline(line);
    expect(stepMs).toBe(64_000);
    expect(admitted).toHaveLength(156);
    expect(admitted.reduce((sum, count) => sum + count, 0)).toBe(1_000);
    // 80 * 80 * 10 ms are the first 64 s.
    expect(admitted[0]).toBe(80);
  });
});
