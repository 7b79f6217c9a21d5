// The promise of the project: one exact limit over all regions.

import { expect, it } from "vitest";
import { partOf } from "../support/cases/draws.ts";
import { fieldsOf } from "../support/cases/fields.ts";
import { startGateway, uniqueName } from "../support/gateway/gateway.ts";

const REGIONS = ["eu", "na", "as", "sa"];
const REPETITIONS = partOf(12);

it(`four regions admit exactly 100 of 400 requests at once, in each of ${REPETITIONS} repetitions`, async () => {
  const name = uniqueName("regions");
  const policies = [{ name, key: ["ip"], limits: [{ limit: 100, window: "10m", buckets: 10 }] }];
  const gateways = await Promise.all(REGIONS.map((region) => startGateway({ policies, vars: { REGION: region } })));
  for (let repetition = 1; repetition <= REPETITIONS; repetition++) {
    const address = `198.51.100.${repetition}`;
    const sent = Array.from({ length: 100 }, () => gateways.map((gateway) => gateway.fetch("/", { address })));
    let admitted = 0;
    for (const answer of await Promise.all(sent.flat())) {
      await answer.arrayBuffer();
      const { states, retryAfter } = fieldsOf(answer);
      // Only a decision over Redis's counts shows numbers. A fallback decision shows none.
      expect(states?.[name]?.r).toBeTypeOf("number");
      if (answer.status === 200) admitted++;
      else expect([answer.status, retryAfter]).toEqual([429, expect.any(Number)]);
    }
    expect(admitted).toBe(100);
  }
}, 120_000);
