// Plans of a gateway. test/adapters/promises.ts has what headers and refusals tell of them.

import { expect, it } from "vitest";
import { gatewayWith, uniqueName } from "./support.ts";

it("/limits/me tells the numbers of the caller's plan", async () => {
  const name = uniqueName("tiers");
  const [first, second] = [`${name}-1`, `${name}-2`];
  const limits = [
    { limit: 2, window: "1h" },
    { algorithm: "token-bucket", limit: 20, window: "1d" },
  ];
  const plans = { pro: { [first]: 3 }, team: { [first]: 5, [second]: 50 } };
  const ask = gatewayWith({ POLICIES: [{ name, plan: "header:x-plan", plans, limits }] });
  const team = { headers: { "X-Plan": "team" } };
  await ask("/", team);
  const left = async (init?: RequestInit) =>
    ((await (await ask("/.headgate/limits/me", init)).json()) as { limits: object[] }).limits;
  expect(await left(team)).toMatchObject([
    { id: first, quota: 5, remaining: 4, cost: 1 },
    { id: second, quota: 50, remaining: 49 },
  ]);
  expect(await left()).toMatchObject([
    { id: first, quota: 2, remaining: 1, cost: 1 },
    { id: second, quota: 20, remaining: 19 },
  ]);
});
