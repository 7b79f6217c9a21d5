// The table of counts: what it gives back, and what it forgets.

import { expect, it } from "vitest";
import { Counts } from "../../../../src/cli/replay/engine/counts.ts";
import type { Records } from "../../../../src/core/records.ts";
import { START_MS } from "./logs.ts";

/** Records of one policy, with these units. */
const recordsOf = (units: number): Records => [
  { kind: 1, bucketMs: 60_000, buckets: 2, newest: START_MS / 60_000, counts: [units, 0, units + 1] },
  { kind: 3, windowMs: 1_000, newest: START_MS / 1_000, count: units },
  { kind: 4, windowMs: 700, atMs: START_MS + units, debt: units * 700 },
  { kind: 5, windowMs: 5_000, used: units, newestAtMs: START_MS },
];

it("gives back the records of every client as they were written last", () => {
  const counts = new Counts();
  for (let client = 0; client < 1_000; client++) counts.writeRecords(client, recordsOf(client), START_MS);
  counts.writeRecords(7, recordsOf(70), START_MS);
  expect([0, 7, 999].map((client) => counts.records(client))).toEqual([0, 70, 999].map(recordsOf));
  expect(counts.records(1_000)).toBeUndefined();
});

it("forgets clients when their counts have ended, and never one that still counts", () => {
  const counts = new Counts();
  for (let client = 0; client < 10_000; client++) {
    counts.writeRecords(client, recordsOf(client), START_MS + (client % 2) * 60_000);
  }
  counts.sweep(START_MS + 1);
  expect([0, 1].map((client) => counts.has(client))).toEqual([false, true]);
  for (let client = 10_000; client < 20_000; client++) {
    expect(counts.records(client)).toBeUndefined();
    counts.writeRecords(client, recordsOf(client), START_MS + 1);
  }
  for (const client of [1, 9_999, 10_000, 19_999]) expect(counts.records(client)).toEqual(recordsOf(client));
});
