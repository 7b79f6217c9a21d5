// The origin never has more requests at a time than the limit, whatever regions they come from.

import { describe, expect, it } from "vitest";
import { fieldsOf } from "../support/cases/fields.ts";
import { startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { startHeldOrigin } from "../support/gateway/held-origin.ts";
import { startOrigin } from "../support/gateway/origin-server.ts";
import { atATime, watchSlots } from "../support/redis/slots.ts";

const LIMIT = 5;
const CLIENTS = 50;

/** Starts gateways in two regions on one Redis. */
async function startGateways(originUrl: string) {
  const name = uniqueName("concurrency");
  const policies = [{ name, key: ["global"], limits: [atATime(LIMIT)] }];
  const gateways = await Promise.all(
    ["eu", "na"].map((region) => startGateway({ policies, vars: { ORIGIN_URL: originUrl, REGION: region } })),
  );
  return { name, slots: watchSlots(name), fetch: (client: number) => gateways[client % gateways.length]!.fetch("/") };
}

describe(`${LIMIT} at a time, ${CLIENTS} clients at once in two regions`, () => {
  it("admits five whose answers stream, refuses the others, and admits five again when these have ended", async () => {
    const origin = await startHeldOrigin();
    const { name, slots, fetch } = await startGateways(origin.url);

    for (const round of [1, 2]) {
      const answers = await Promise.all(Array.from({ length: CLIENTS }, (_, client) => fetch(client)));
      const admitted = answers.filter(({ status }) => status === 200);
      const refused = answers.filter(({ status }) => status === 429);
      expect([admitted.length, refused.length]).toEqual([LIMIT, CLIENTS - LIMIT]);
      expect([origin.inFlight, origin.peak, origin.requests.length]).toEqual([LIMIT, LIMIT, LIMIT * round]);
      expect(await slots.held()).toBe(LIMIT);
      for (const answer of refused) {
        const { policies, states, retryAfter } = fieldsOf(answer);
        expect(policies).toEqual({ [name]: { q: LIMIT, qu: "concurrent-requests" } });
        expect([states, retryAfter]).toEqual([{ [name]: { r: 0 } }, 1]);
        expect(await answer.json()).toMatchObject({
          "violated-policies": [name],
          detail: expect.stringContaining(`${name} (${LIMIT} at a time in all regions)`),
        });
      }
      // Each answer's `remaining` counts the slot that its own request took.
      const left = admitted.map((answer) => fieldsOf(answer).states![name]!.r as number);
      expect(left.sort()).toEqual([0, 1, 2, 3, 4]);

      origin.end();
      for (const answer of admitted) expect(await answer.text()).toBe("firstlast");
      await slots.free();
    }
  });

  it("never has more than five at the origin while all of them ask until they are admitted", async () => {
    let [inFlight, peak] = [0, 0];
    const origin = await startOrigin((_request, response) => {
      peak = Math.max(peak, ++inFlight);
      response.write("first");
      setImmediate(() => {
        inFlight--;
        response.end("last");
      });
    });
    const { slots, fetch } = await startGateways(origin.url);

    const untilAdmitted = async (client: number): Promise<string> => {
      const answer = await fetch(client);
      const body = await answer.text();
      return answer.status === 429 ? untilAdmitted(client) : body;
    };
    const bodies = await Promise.all(Array.from({ length: CLIENTS }, (_, client) => untilAdmitted(client)));

    expect(bodies).toEqual(bodies.map(() => "firstlast"));
    expect(origin.requests).toHaveLength(CLIENTS);
    expect(peak).toBeLessThanOrEqual(LIMIT);
    await slots.free();
  });
});
