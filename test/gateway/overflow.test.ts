// What an operator and a client see of an overflow, through a real gateway. test/features/overflow has who pays, and
// overflow-clients.long.test.ts what real clients are charged.

import { expect, it } from "vitest";
import { ADMIN_TOKEN, startAdmin } from "../support/gateway/admin.ts";
import { uniqueName } from "../support/gateway/gateway.ts";

const limits = (limit: number) => [{ algorithm: "fixed-window", limit, window: "31d" }] as const;
const settled = { timeout: 20_000, interval: 50 };

it("an operator sees in a refusal's token and in metrics who was asked and who paid", async () => {
  const [plan, team] = ["plan", "team"].map(uniqueName) as [string, string];
  const gateway = await startAdmin({
    ...{ redis: null, counts: true, stats: true },
    policies: [
      { name: plan, key: ["header:x-user"], limits: limits(1), overflow: team },
      { name: team, key: ["header:x-team"], limits: limits(1) },
    ],
    vars: { EXPLAIN: "on", REGION: "eu", STATS_FLUSH: "1s" },
  });
  const ask = () => gateway.fetch("/v1/items", { headers: { "x-user": "ann", "x-team": "acme" } });
  expect([(await ask()).status, (await ask()).status]).toEqual([200, 200]);
  const refused = await ask();
  expect(refused.status).toBe(429);
  const token = refused.headers.get("Headgate-Explain")!;
  const { body } = await gateway.admin(`/explain?token=${encodeURIComponent(token)}`);
  expect(body.policies).toEqual([
    expect.objectContaining({ policy: plan, kind: "header:x-user" }),
    expect.objectContaining({ policy: team, kind: "header:x-team", overflowOf: plan }),
  ]);

  const left = await gateway.fetch("/.headgate/limits/me", { headers: { "x-user": "bob", "x-team": "acme" } });
  expect(await left.json()).toMatchObject({
    limits: [
      { policy: plan, remaining: 1 },
      { policy: team, remaining: 0 },
    ],
  });

  const metrics = async () => {
    const answer = await gateway.fetch("/.headgate/metrics", {
      headers: { Authorization: `Bearer ${ADMIN_TOKEN}` },
    });
    return (await answer.text()).split("\n");
  };
  const line = (name: string, labels: string, count: number) => `headgate_${name}_total{${labels}} ${count}`;
  const decision = (policy: string, outcome: string) =>
    new RegExp(`^headgate_decisions_total\\{policy="${policy}",region="eu",outcome="${outcome}",.*\\} (\\d+)$`);
  await expect
    .poll(async () => {
      // Counts are handed on with requests.
      await gateway.fetch("/.headgate/health");
      await ask();
      return await metrics();
    }, settled)
    .toContain(line("overflow", `policy="${plan}",paid_by="${team}"`, 1));
  const lines = await metrics();
  const count = (policy: string, outcome: string) =>
    lines.reduce((sum, one) => sum + Number(decision(policy, outcome).exec(one)?.[1] ?? 0), 0);
  expect([count(plan, "admitted"), count(plan, "overflowed"), count(team, "admitted")]).toEqual([1, 1, 1]);
  expect(count(team, "overflowed")).toBe(0);
  expect(count(team, "refused")).toBe(count(plan, "refused"));
});
