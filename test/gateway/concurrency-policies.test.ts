// Slots of policies that do not enforce, and slots while Redis is away.

import { expect, it } from "vitest";
import { freePort } from "../../scripts/machine/redis-server.ts";
import { fieldsOf } from "../support/cases/fields.ts";
import { startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { startHeldOrigin } from "../support/gateway/held-origin.ts";
import { atATime, watchSlots } from "../support/redis/slots.ts";

it("in shadow takes slots and gives them back, but never blocks", async () => {
  const origin = await startHeldOrigin();
  const name = uniqueName("shadow");
  const slots = watchSlots(name);
  const policies = [{ name, key: ["global"], mode: "shadow", limits: [atATime(2)] }];
  const gateway = await startGateway({ policies, vars: { ORIGIN_URL: origin.url } });

  for (let repetition = 1; repetition <= 2; repetition++) {
    const answers = await Promise.all(Array.from({ length: 5 }, () => gateway.fetch("/")));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(answers.map(fieldsOf)).toEqual([{}, {}, {}, {}, {}]);
    expect([origin.inFlight, await slots.held()]).toEqual([5, 2]);
    origin.end();
    for (const answer of answers) await answer.text();
    await slots.free();
  }
  const refusals = gateway.logs.filter((line) => line.includes("shadow-refused"));
  expect(refusals.map((line) => JSON.parse(line).shadow)).toEqual(Array.from({ length: 6 }, () => [name]));
});

it("in shadow is released with an enforced limit of the same request, and not taken when that refuses", async () => {
  const origin = await startHeldOrigin();
  const [shadow, enforced] = [uniqueName("shadow"), uniqueName("enforced")];
  const slots = { shadow: watchSlots(shadow), enforced: watchSlots(enforced) };
  const policies = [
    { name: shadow, key: ["global"], mode: "shadow", limits: [atATime(9)] },
    { name: enforced, key: ["global"], limits: [atATime(1)] },
  ];
  const gateway = await startGateway({ policies, vars: { ORIGIN_URL: origin.url } });

  const answer = await gateway.fetch("/");
  expect((await gateway.fetch("/")).status).toBe(429);
  expect([await slots.shadow.held(), await slots.enforced.held()]).toEqual([1, 1]);
  origin.end();
  await answer.text();
  await Promise.all([slots.shadow.free(), slots.enforced.free()]);
});

it("`onStoreFailure = local` keeps count in the isolate while Redis is away, and gives the slots back there", async () => {
  const origin = await startHeldOrigin();
  const redis = { url: `http://127.0.0.1:${await freePort()}`, token: "dead" };
  const policies = [{ name: uniqueName("local"), key: ["global"], limits: [atATime(2)] }];
  const gateway = await startGateway({ policies, vars: { ORIGIN_URL: origin.url }, redis });

  for (let repetition = 1; repetition <= 2; repetition++) {
    const admitted = [await gateway.fetch("/"), await gateway.fetch("/")];
    const refused = await gateway.fetch("/");
    expect([...admitted, refused].map(({ status }) => status)).toEqual([200, 200, 429]);
    expect([...admitted, refused].map(fieldsOf)).toEqual([{}, {}, { retryAfter: 1 }]);
    origin.end();
    for (const answer of admitted) await answer.text();
    await expect.poll(() => freeSlots(2), { timeout: 30_000 }).toBe(2);
  }

  /** Takes all free slots, up to `most`, and gives them back. Returns their number. */
  async function freeSlots(most: number): Promise<number> {
    const answers = [];
    for (let i = 0; i < most; i++) answers.push(await gateway.fetch("/"));
    origin.end();
    for (const answer of answers) await answer.text();
    return answers.filter(({ status }) => status === 200).length;
  }
});
