// Plans of a gateway: headers, refusals, the limits page and `/limits/me` tell the numbers that hold for the client.

import { expect, it } from "vitest";
import { fieldsOf } from "../support/cases/fields.ts";
import { gatewayWith, uniqueName } from "./support.ts";

const IP = { "CF-Connecting-IP": "203.0.113.7" };

function gatewayWithPlans(more: object = {}) {
  const name = uniqueName("tiers");
  const [first, second] = [`${name}-1`, `${name}-2`];
  const policy = {
    name,
    plan: "header:x-plan",
    plans: { pro: { [first]: 3 }, team: { [first]: 5, [second]: 50 } },
    limits: [
      { limit: 2, window: "1h" },
      { algorithm: "token-bucket", limit: 20, window: "1d" },
    ],
    ...more,
  };
  const ask = gatewayWith({ POLICIES: [policy] });
  const askFor = (path: string, plan?: string, headers: object = {}) =>
    ask(path, { headers: { ...IP, ...headers, ...(plan !== undefined && { "X-Plan": plan }) } });
  return { first, second, askFor };
}

it("a request has the numbers of its plan, and counts on when the plan changes", async () => {
  const { first, second, askFor } = gatewayWithPlans();
  const told = async (plan?: string) => {
    const answer = await askFor("/", plan);
    const { policies, states, legacy } = fieldsOf(answer);
    return [answer.status, policies![first]!.q, policies![second]!.q, states![first]!.r, legacy!.limit];
  };
  expect(await told()).toEqual([200, 2, 20, 1, 2]);
  expect(await told("unknown")).toEqual([200, 2, 20, 0, 2]);
  expect(await told()).toEqual([429, 2, 20, 0, 2]);
  expect(await told(" pro ")).toEqual([200, 3, 20, 0, 3]);
  expect(await told("PRO")).toEqual([429, 2, 20, 0, 2]);
  expect(await told("team")).toEqual([200, 5, 50, 1, 5]);
  const refused = await askFor("/", "pro");
  expect(refused.status).toBe(429);
  expect(await refused.json()).toMatchObject({
    detail: expect.stringContaining(`${first} (3 per 1h in all regions)`),
    "violated-policies": [first],
  });
});

it("/limits/me tells the numbers of the caller's plan", async () => {
  const { first, second, askFor } = gatewayWithPlans();
  await askFor("/", "team");
  const left = async (plan?: string) => {
    const { limits } = (await (await askFor("/.headgate/limits/me", plan)).json()) as { limits: object[] };
    return limits;
  };
  expect(await left("team")).toMatchObject([
    { id: first, quota: 5, remaining: 4, cost: 1 },
    { id: second, quota: 50, remaining: 49 },
  ]);
  expect(await left()).toMatchObject([
    { id: first, quota: 2, remaining: 1, cost: 1 },
    { id: second, quota: 20, remaining: 19 },
  ]);
});
