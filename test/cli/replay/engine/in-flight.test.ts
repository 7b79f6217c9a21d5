// The order of what happens to requests in flight.

import { describe, expect, it } from "vitest";
import { InFlight } from "../../../../src/cli/replay/engine/in-flight.ts";

describe("requests in flight", () => {
  it("let things happen in the order of time", () => {
    const inFlight = new InFlight<number>();
    const all = Array.from({ length: 200 }, (_, i) => (i * 7_919) % 83);
    for (const atMs of all) inFlight.add(atMs, atMs);
    const happened: number[] = [];
    for (let event = inFlight.next(50); event; event = inFlight.next(50)) happened.push(event.what);
    expect(happened).toEqual(all.filter((atMs) => atMs <= 50).sort((a, b) => a - b));
  });
});
