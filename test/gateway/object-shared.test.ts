// consistency = "shared" in front of a Durable Object: each gateway answers at once, and hears from the object what the
// other has admitted.

import { expect, it } from "vitest";
import { startGateways } from "../support/objects/gateways.ts";

it("two gateways share a limit that one object counts", async () => {
  const limits = [{ limit: 10, window: "1h" }];
  const policies = [{ name: "all", key: "global", limits, consistency: "shared", sync: "100ms" }];
  const urls = await startGateways(["a", "b"], "counted-counts.ts", policies);
  const ask = async (name: string) => {
    const answer = await fetch(urls[name]!, { headers: { "CF-Connecting-IP": "192.0.2.1" } });
    return { status: answer.status, text: await answer.text() };
  };
  const statuses: number[] = [];
  for (let i = 0; i < 12; i++) statuses.push((await ask("a")).status);
  expect(statuses).toEqual([...Array(10).fill(200), 429, 429]);
  // Real time: timers inside workerd tell after each `sync`. Until then the other gateway counts alone.
  let admitted = 0;
  const isFull = async () => {
    const { status } = await ask("b");
    admitted += Number(status === 200);
    return status === 429;
  };
  await expect.poll(isFull, { timeout: 10_000, interval: 150 }).toBe(true);
  expect(admitted).toBeLessThan(10);
  expect(Number((await ask("counts")).text)).toBeGreaterThan(0);
});
