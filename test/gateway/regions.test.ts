// The promise of the project: one exact limit over all regions.

import { describe, expect, it } from "vitest";
import { partOf } from "../support/cases/draws.ts";
import { fieldsOf } from "../support/cases/fields.ts";
import { type Gateway, startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { startTraffic } from "../support/gateway/traffic.ts";

const REGIONS = ["eu", "na", "as", "sa"];
const REPETITIONS = partOf(12);

describe("four regions, one Redis, a limit of 100 per 10 minutes", { timeout: 120_000 }, () => {
  it(`admits exactly 100 of 400 concurrent requests, in each of ${REPETITIONS} repetitions`, async () => {
    const { gateways, name } = await startRegions("global");
    const { send } = startTraffic();
    for (let repetition = 1; repetition <= REPETITIONS; repetition++) {
      const admitted = await admittedByRegion(gateways, send, name, 100, repetition);
      expect(admitted.reduce((sum, count) => sum + count)).toBe(100);
    }
  });

  // Each repetition counts four times, once for each region: as many counts in all.
  it("admits exactly 100 in each region when the limit counts per region", async () => {
    const { gateways, name } = await startRegions("region");
    const { send } = startTraffic();
    for (let repetition = 1; repetition <= REPETITIONS / REGIONS.length; repetition++) {
      expect(await admittedByRegion(gateways, send, name, 110, repetition)).toEqual([100, 100, 100, 100]);
    }
  });
});

async function startRegions(scope: "global" | "region"): Promise<{ gateways: Gateway[]; name: string }> {
  const name = uniqueName("regions");
  const policies = [{ name, key: ["ip"], limits: [{ limit: 100, window: "10m", buckets: 10, scope }] }];
  const gateways = await Promise.all(REGIONS.map((region) => startGateway({ policies, vars: { REGION: region } })));
  return { gateways, name };
}

/** Sends the requests of all regions at once, interleaved, for a client that is new in each repetition. */
async function admittedByRegion(
  gateways: Gateway[],
  send: ReturnType<typeof startTraffic>["send"],
  name: string,
  each: number,
  repetition: number,
) {
  const address = `198.51.100.${repetition}`;
  const sent = Array.from({ length: each }, () => gateways.map((gateway) => send(gateway, "/", address)));
  const admitted = gateways.map(() => 0);
  for (const round of sent) {
    for (const [region, answer] of (await Promise.all(round)).entries()) {
      const { states, retryAfter } = fieldsOf(answer);
      // Only a decision over Redis's counts shows numbers. A fallback decision shows none.
      expect(states?.[name]?.r).toBeTypeOf("number");
      if (answer.status === 200) admitted[region]!++;
      else expect([answer.status, retryAfter]).toEqual([429, expect.any(Number)]);
    }
  }
  return admitted;
}
