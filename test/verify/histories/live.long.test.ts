// Short histories with faults, of a Durable Object in workerd and of limiters over three Redis. Whatever the machine
// does meanwhile, they are as promised. `npm run verify:histories` records long ones.

import { expect, it } from "vitest";
import { checkHistory } from "../../../scripts/verify/histories/check.ts";
import { readHistory, writeHistory } from "../../../scripts/verify/histories/history.ts";
import { recordObject } from "../../../scripts/verify/histories/object.ts";
import { recordRedis } from "../../../scripts/verify/histories/redis.ts";

it("the Durable Object is linearizable while it crashes and workerd is killed", async () => {
  const history = await recordObject({ operations: 600, processes: 12, kills: 1, crashes: 2, seed: 1 });
  const { violations, calls } = checkHistory(readHistory(writeHistory(history)));
  expect(violations).toEqual([]);
  expect(calls.calls).toBeGreaterThanOrEqual(600);
  const ofTwo = history.operations.filter((one) => one.op === "take" && one.input.keys.length > 1);
  expect(ofTwo.length).toBeGreaterThan(20);
});

it("limiters over three Redis stay within their limits, and explain each refusal, while replies are lost", async () => {
  const history = await recordRedis({ decisions: 150, isolates: 2, processes: 4, faultEvery: 25, seed: 1 });
  const { violations, places } = checkHistory(readHistory(writeHistory(history)));
  expect(violations).toEqual([]);
  expect(places!.decisions).toBeGreaterThanOrEqual(100);
});
