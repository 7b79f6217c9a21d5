// One of three Redis dies, twice: only the policies whose keys lie there follow their `onStoreFailure`.

import { setImmediate as turn } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { fieldsOf } from "../../support/cases/fields.ts";
import { startFaultRig } from "../../support/faults/fault-rig.ts";
import { startGateway } from "../../support/gateway/gateway.ts";
import { nameOn, nodeBindings } from "../../support/gateway/nodes.ts";
import { admitsExactly, leftOf, PATIENCE } from "../../support/gateway/until-full.ts";
import { startPrivateRedis } from "../../support/redis/private-redis.ts";

const NODES = ["a", "b", "c"];
const LIMIT = 400;
const LOCAL = 3;

it("keeps the limits of the other nodes exact and charged, and says which node is away", async () => {
  const [a, b, rig] = await Promise.all([startPrivateRedis(), startPrivateRedis(), startFaultRig()]);
  onTestFinished(() => rig.close());
  const on = async (node: string, path: string | undefined, limit: number, more: object = {}) => ({
    name: await nameOn(node, NODES),
    key: ["global"],
    ...(path !== undefined && { match: { path } }),
    limits: [{ limit, window: "31d" }],
    cost: [{ path: "/look", cost: 0 }],
    ...more,
  });
  const policies = [
    await on("a", undefined, LIMIT),
    await on("b", undefined, 2 * LIMIT),
    await on("c", "/local", LOCAL),
    await on("c", "/allow", 1_000, { onStoreFailure: "allow" }),
    await on("c", "/deny", 1_000, { onStoreFailure: "deny" }),
    await on("c", "/shadow", 1, { onStoreFailure: "deny", mode: "shadow" }),
  ];
  const [onA, onB, local] = policies.map(({ name }) => name) as [string, string, string];
  const vars = nodeBindings({ a: a.rest, b: b.rest, c: rig.rest });
  const gateways = await Promise.all(["one", "two"].map(() => startGateway({ redis: null, policies, vars })));
  const [gateway] = gateways as [(typeof gateways)[number]];

  let admitted = 0;
  const ask = async (path: string, at = gateway) => {
    const answer = await at.fetch(path);
    if (answer.status === 200) admitted++;
    return { answer, status: answer.status, text: await answer.text(), states: fieldsOf(answer).states ?? {} };
  };
  const isCharged = () =>
    expect
      .poll(() => leftOf(gateway, "/look"), PATIENCE)
      .toEqual({ [onA]: LIMIT - admitted, [onB]: 2 * LIMIT - admitted });

  for (const outage of [1, 2]) {
    // Under load, until the breakers of both isolates are open.
    let isOver = false;
    const load = gateways.map(async (at) => {
      const statuses: number[] = [];
      while (!isOver) {
        statuses.push((await ask("/local", at)).status);
        await turn();
      }
      return statuses.filter((status) => status === 200).length;
    });
    try {
      await rig.begin("restarted-empty");
      for (const { logs } of gateways) {
        await expect.poll(() => breakerLines(logs).at(-1), PATIENCE).toMatchObject({ state: "open", place: "c" });
      }
    } finally {
      isOver = true;
    }
    for (const own of await Promise.all(load)) expect(own).toBeLessThanOrEqual(LOCAL);

    expect((await ask("/local")).status).toBe(429);
    for (let i = 0; i < 5; i++) {
      const denied = await ask("/deny");
      expect([denied.status, denied.answer.headers.get("Retry-After")]).toEqual([503, "1"]);
      expect(denied.text).toContain("http-problem-types#temporary-reduced-capacity");
      expect(Object.keys((await ask("/allow")).states)).toEqual([onA, onB]);
      expect((await ask("/shadow")).status).toBe(200);
    }
    await isCharged();
    await expect
      .poll(async () => (await gateway.fetch("/.headgate/health")).json(), PATIENCE)
      .toMatchObject({
        status: "degraded",
        redis: {
          reachable: false,
          breaker: "open",
          places: [
            { name: "a", reachable: true, breaker: "closed" },
            { name: "b", reachable: true, breaker: "closed" },
            { name: "c", reachable: false, breaker: "open" },
          ],
        },
      });
    expect((await gateway.fetch("/.headgate/health")).status).toBe(200);
    if (outage === 2) break;

    await rig.end();
    for (const at of gateways) {
      await expect.poll(async () => Object.keys((await ask("/local", at)).states), PATIENCE).toContain(local);
      await expect.poll(() => breakerLines(at.logs).at(-1), PATIENCE).toMatchObject({ state: "closed", place: "c" });
    }
    await isCharged();
  }
  // While this node is away, what is left of the other nodes' limits is admitted exactly.
  await admitsExactly(LIMIT - admitted, () =>
    gateways.flatMap((at) => Array.from({ length: 50 }, () => at.fetch("/allow"))),
  );
});

function breakerLines(logs: readonly string[]): object[] {
  return logs.flatMap((line) => (line.includes('"event":"breaker"') ? [JSON.parse(line) as object] : []));
}
