// The promise of the project: one exact limit over all regions.

import { expect, it } from "vitest";
import { partOf } from "../support/cases/draws.ts";
import { fieldsOf } from "../support/cases/fields.ts";
import { type Gateway, startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { startTraffic } from "../support/gateway/traffic.ts";

const REGIONS = ["eu", "na", "as", "sa"];
const REPETITIONS = partOf(12);

it(`admits exactly 100 of 400 concurrent requests, in each of ${REPETITIONS} repetitions`, async () => {
  const { gateways, name } = await startRegions();
  const { send } = startTraffic();
  for (let repetition = 1; repetition <= REPETITIONS; repetition++) {
    expect(await admitted(gateways, send, name, repetition)).toBe(100);
  }
}, 120_000);

async function startRegions(): Promise<{ gateways: Gateway[]; name: string }> {
  const name = uniqueName("regions");
  const policies = [{ name, key: ["ip"], limits: [{ limit: 100, window: "10m", buckets: 10 }] }];
  const gateways = await Promise.all(REGIONS.map((region) => startGateway({ policies, vars: { REGION: region } })));
  return { gateways, name };
}

/** Sends 100 requests of each region at once, interleaved, for a client that is new in each repetition. */
async function admitted(
  gateways: Gateway[],
  send: ReturnType<typeof startTraffic>["send"],
  name: string,
  repetition: number,
): Promise<number> {
  const address = `198.51.100.${repetition}`;
  const sent = Array.from({ length: 100 }, () => gateways.map((gateway) => send(gateway, "/", address)));
  let count = 0;
  for (const answer of await Promise.all(sent.flat())) {
    const { states, retryAfter } = fieldsOf(answer);
    // Only a decision over Redis's counts shows numbers. A fallback decision shows none.
    expect(states?.[name]?.r).toBeTypeOf("number");
    if (answer.status === 200) count++;
    else expect([answer.status, retryAfter]).toEqual([429, expect.any(Number)]);
  }
  return count;
}
