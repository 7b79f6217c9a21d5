// The rows that Cloudflare bills for a call, counted by the object's own cursors. bench/results/objects.md multiplies
// them.

import { runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { UNITS } from "../../scripts/simulate/scale/bill.ts";
import { Kind } from "../../src/kernel/core/algorithm.ts";
import { Flag, type TakeRequest } from "../../src/kernel/core/take.ts";
import { COUNTS, rowsOf, uniqueName } from "./support.ts";

function takeOf(key: string, cost = 1): TakeRequest {
  const limits = [{ kind: Kind.weighted, limit: 5, bucketMs: 10_000, buckets: 1 }] as const;
  return { keys: [{ key, group: 0, cost, limits }], flag: Flag.take };
}

it("one take of one key reads and writes as many rows as bench/results/objects.md multiplies", async () => {
  const object = COUNTS.getByName(uniqueName("rows"));
  const take = (cost = 1) => rowsOf(object, (counts) => counts.take(takeOf("k", cost)));
  expect(await take()).toEqual({ read: UNITS.rowsRead.first, written: UNITS.rowsWritten.first });
  expect(await take()).toEqual({ read: UNITS.rowsRead.known, written: UNITS.rowsWritten.known });
  expect((await take(5)).written).toBe(0);
  const look = rowsOf(object, (counts) => counts.take({ ...takeOf("k"), flag: Flag.look }));
  expect((await look).written).toBe(0);

  const setExpiry = (atMs: number) =>
    runInDurableObject(object, (_, { storage }) => void storage.sql.exec("UPDATE counts SET expires_at = ?", atMs));
  await setExpiry(Date.now() + 10_000);
  expect((await take()).written).toBe(UNITS.rowsWritten.moved);
  await setExpiry(1);
  expect((await rowsOf(object, (counts) => counts.alarm())).written).toBe(UNITS.rowsWritten.removed);
});
