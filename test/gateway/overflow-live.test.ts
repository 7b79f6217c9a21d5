// A live change of a chain's numbers while streams run that one of its policies pays for: each stream is settled with
// who paid when it began, whoever would pay now.

import { expect, it, onTestFinished } from "vitest";
import { firstOf } from "../support/cases/draws.ts";
import { startAdmin } from "../support/gateway/admin.ts";
import { uniqueName } from "../support/gateway/gateway.ts";
import { type Ask, clientsOf } from "../support/llm/clients.ts";
import { startMockProvider } from "../support/llm/mock-provider.ts";
import type { MockPlan } from "../support/llm/plan.ts";
import { startPrivateRedis } from "../support/redis/private-redis.ts";

const soon = { timeout: 20_000, interval: 50 };
const PROMPT = "How many?";
const INPUT = Math.ceil(`roleusercontent${PROMPT}`.length / 4);
const OUTPUT = 100;

/** A stream with this usage. It asks for 100 tokens at most, and the provider does not care. */
const using = (inputTokens: number, outputTokens: number, more: Partial<MockPlan> = {}): Ask => ({
  ...{ format: "openai-chat", stream: true, model: "m", prompt: PROMPT, maxTokens: OUTPUT },
  plan: { tokens: outputTokens, usage: { inputTokens, outputTokens }, ...more },
});

it.each(
  firstOf([
    ["Redis", "cut"],
    ["a Durable Object", "finish"],
    ["Redis", "finish"],
  ]),
)("streams keep their payer when plan and team change places: %s, %s", async (where, onExceeded) => {
  const [plan, team] = [uniqueName("plan"), uniqueName("team")];
  const provider = await startMockProvider();
  onTestFinished(() => provider.close());
  const fixed = (limit: number) => ({ algorithm: "fixed-window", limit, window: "31d" });
  const meter = { unit: "tokens", onExceeded };
  const gateway = await startAdmin({
    ...(where === "Redis" ? { redis: (await startPrivateRedis()).rest } : { redis: null, counts: true }),
    policies: [
      { name: plan, key: ["header:x-user"], meter, limits: [fixed(1_000)], overflow: team },
      { name: team, key: ["header:x-team"], meter, limits: [fixed(50_000), { limit: 60_000, window: "30d" }] },
    ],
    vars: { ORIGIN_URL: provider.url },
  });
  const { ask } = clientsOf(gateway.url.href, 0, async (input, init) => {
    const headers = new Headers(init!.headers);
    headers.set("x-user", "ann");
    headers.set("x-team", "acme");
    return await fetch(input, { ...init, headers });
  });
  /** By each limit of the policy. */
  const used = async (policy: string, key: string) => {
    const { body } = await gateway.admin(`/counts/${policy}?key=${key}`);
    const limits: { limit: number; remaining: number }[] = body.limits;
    return limits.map(({ limit, remaining }) => limit - remaining);
  };
  const change = async (policy: string, limits: object) =>
    expect((await gateway.admin(`/policies/${policy}`, { method: "PATCH", body: { limits } })).status).toBe(200);
  const payers = () => provider.exchanges.map(({ headers }) => headers["headgate-paid-by"]);
  const toldTo = (payer: string) =>
    provider.exchanges
      .filter(({ headers }) => headers["headgate-paid-by"] === payer)
      .reduce((sum, { usage }) => sum + usage!.inputTokens + usage!.outputTokens, 0);

  // An answer in JSON is not cut.
  await ask({ ...using(990, 10), stream: false });
  await expect.poll(() => used(plan, "ann"), soon).toEqual([1_000]);
  // One uses less than it has reserved, the other more.
  const streams = [ask(using(50, 20, { holdAfter: 3 })), ask(using(100, 900, { holdAfter: 3 }))];
  await expect.poll(payers, soon).toEqual([plan, team, team]);
  expect(await used(team, "acme")).toEqual([2 * (INPUT + OUTPUT), 2 * (INPUT + OUTPUT)]);

  // Now the plan can pay, and the team has less than its streams hold, and is blocked.
  await change(plan, { [plan]: 90_000 });
  await change(team, { [`${team}-1`]: 10, [`${team}-2`]: 20 });
  const override = { method: "PUT", body: { block: true } };
  expect((await gateway.admin(`/overrides/${team}?key=acme`, override)).status).toBe(200);
  const latestPayer = async () => {
    await ask(using(3, 4));
    return payers().at(-1);
  };
  await expect.poll(latestPayer, soon).toBe(plan);
  provider.resume();
  await Promise.all(streams);
  expect(await latestPayer()).toBe(plan);

  // With the numbers of the beginning the counts can be read again.
  expect((await gateway.admin(`/overrides/${team}?key=acme`, { method: "DELETE" })).status).toBe(200);
  await change(team, { [`${team}-1`]: null, [`${team}-2`]: null });
  expect(toldTo(team)).toBeGreaterThanOrEqual(1_070);
  await expect.poll(() => used(team, "acme"), soon).toEqual([toldTo(team), toldTo(team)]);
  await expect.poll(() => used(plan, "ann"), soon).toEqual([toldTo(plan)]);
});
