// Plan, team and credits through a real gateway and a real Redis: who pays, what the origin is told, and that each is
// charged exactly what its answers used. test/features/overflow/http.test.ts has the cases one by one.

import { buffer } from "node:stream/consumers";
import { describe, expect, it, onTestFinished } from "vitest";
import { startAdmin } from "../support/gateway/admin.ts";
import { startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { startOrigin } from "../support/gateway/origin-server.ts";
import { startMeteredGateway } from "../support/llm/metered-gateway.ts";
import { mulberry32 } from "../support/mulberry32.ts";

const limits = (limit: number) => [{ algorithm: "fixed-window", limit, window: "31d" }] as const;
const settled = { timeout: 20_000, interval: 50 };
const PAID_BY = "headgate-paid-by";

/** Names that no other test has. */
function names() {
  return { plan: uniqueName("plan"), team: uniqueName("team"), credits: uniqueName("credits") };
}

/** Dollars per million tokens. */
const PRICE = { input: 10, output: 100 };
const TEAM_PRICE = { input: 1, output: 10 };
const REFUSAL = { status: 402, body: '{"error":"the budget is spent","retryAfter":{retryAfter}}' };

describe("budgets in dollars", () => {
  it("hold exactly the answers' usage, each at its own prices", async () => {
    const { plan, team, credits } = names();
    const meterOf = (price: object) => ({ unit: "usd", maxOutput: 1_000, prices: { default: price } });
    const [meter, teamMeter] = [meterOf(PRICE), meterOf(TEAM_PRICE)];
    const { gateway, provider, openai, counted } = await startMeteredGateway({
      policies: [
        {
          ...{ name: plan, key: ["header:x-user"], meter, limits: limits(0.6), refusal: REFUSAL },
          overflow: team,
        },
        { name: team, key: ["header:x-team"], meter: teamMeter, limits: limits(0.1), overflow: credits },
        { name: credits, key: ["global"], meter, limits: limits(0.5) },
      ],
    });
    const random = mulberry32(7);
    const headers = { "x-user": "ann", "x-team": "acme", [PAID_BY]: "forged" };
    let refused = 0;
    // Waves of 6 requests at once, until all budgets are spent.
    for (let wave = 0; wave < 30 && refused < 12; wave++) {
      const asking = Array.from({ length: 6 }, async () => {
        const stream = random() < 0.5;
        const body = { model: "gpt-5", max_completion_tokens: 50 + Math.floor(random() * 500) };
        const messages = [{ role: "user" as const, content: "x".repeat(Math.floor(random() * 2_000)) }];
        const plan = JSON.stringify({ tokens: 20 + Math.floor(random() * 300) });
        const answer = await gateway.fetch("/v1/chat/completions", {
          method: "POST",
          body: JSON.stringify({
            ...body,
            messages,
            stream,
            stream_options: stream ? { include_usage: true } : undefined,
          }),
          headers: { ...headers, "x-mock-plan": plan, "Content-Type": "application/json" },
        });
        if (answer.status === 402) refused++;
        return [answer.status, await answer.text()] as const;
      });
      for (const [status, text] of await Promise.all(asking)) {
        expect([200, 402]).toContain(status);
        if (status === 402)
          expect(JSON.parse(text)).toEqual({ error: "the budget is spent", retryAfter: expect.any(Number) });
      }
    }
    expect(refused).toBeGreaterThanOrEqual(12);
    const official = openai.chat.completions.create(
      { model: "gpt-5", messages: [{ role: "user", content: "hello" }], max_completion_tokens: 1_000 },
      { headers },
    );
    await expect(official).rejects.toMatchObject({ status: 402 });

    const units: Record<string, number> = { [plan]: 0, [team]: 0, [credits]: 0 };
    for (const { headers, body, usage } of provider.exchanges) {
      const payer = headers[PAID_BY] as string;
      expect(JSON.parse(body.toString())).toMatchObject({ model: "gpt-5" });
      expect(headers["content-length"]).toBe(String(body.length));
      const { input, output } = payer === team ? TEAM_PRICE : PRICE;
      // A unit is 10 micro-dollars: one for each 10 tokens at a dollar per million.
      units[payer]! += Math.ceil((usage!.inputTokens * input + usage!.outputTokens * output) / 10);
    }
    for (const [policy, used] of Object.entries(units)) {
      expect(used).toBeGreaterThan(0);
      await expect.poll(() => counted(policy), settled).toEqual([used]);
    }
  });
});

describe("the origin", () => {
  it("is told who paid, and never what a client claims, whether a policy applies or not", async () => {
    const { plan, team } = names();
    const told: (string | undefined)[] = [];
    const origin = await startOrigin(async (request, response) => {
      await buffer(request);
      told.push(request.headers[PAID_BY] as string | undefined);
      response.end();
    });
    const overflowing = [
      { name: plan, match: { path: "/v1/*" }, key: ["header:x-user"], limits: limits(1), overflow: team },
      { name: team, key: ["header:x-team"], limits: limits(1) },
    ];
    const vars = { ORIGIN_URL: origin.url };
    const gateway = await startGateway({ policies: overflowing, vars });
    const headers = { "x-user": "ann", "x-team": "acme", [PAID_BY]: "forged" };
    for (const path of ["/v1/a", "/v1/a", "/v1/a", "/other"])
      await gateway.fetch(path, { headers, method: "POST", body: "x" });
    const ordinary = await startGateway({ policies: [{ name: plan, limits: limits(9) }], vars });
    await ordinary.fetch("/v1/a", { headers });
    expect(told).toEqual([plan, team, undefined, undefined]);
  });
});

describe("an operator", () => {
  it("sees in a refusal's token and in metrics who was asked and who paid", async () => {
    const { plan, team } = names();
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

    const { body: left } = {
      body: await (
        await gateway.fetch("/.headgate/limits/me", { headers: { "x-user": "bob", "x-team": "acme" } })
      ).json(),
    };
    expect((left as { limits: { policy: string; remaining: number }[] }).limits).toEqual([
      expect.objectContaining({ policy: plan, remaining: 1 }),
      expect.objectContaining({ policy: team, remaining: 0 }),
    ]);

    const metrics = async () => {
      const answer = await gateway.fetch("/.headgate/metrics", {
        headers: { Authorization: "Bearer t0ken-of-the-admin-of-these-tests" },
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
});
