// What listeners get when an answer is settled: who was charged, for whom, how much, and what the answer has used.

import { beforeEach, expect, it, vi } from "vitest";
import type { SettledAnswer } from "../../../src/features/meter/settled.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { createEnforce } from "../../support/http/enforce.ts";
import { createLimiter } from "../../support/limiter.ts";
import { CHAT, json, type PolicyInput, TOKENS, usageOf } from "../../support/llm/metered-handler.ts";

// Far from the end of a window.
beforeEach(() => void vi.useFakeTimers({ now: Date.UTC(2026, 10, 22, 10, 10), toFake: ["Date"] }));

/** The tokens that are reserved: 1 of text, and the output. */
const BODY = { messages: ["four"], max_tokens: 500, model: "asked" };
const RESERVED = 501;

/** Sends requests one after another. */
async function told(answers: readonly Response[], policies: readonly PolicyInput[] = [TOKENS], init: RequestInit = {}) {
  const found: SettledAnswer[] = [];
  const work: Promise<unknown>[] = [];
  const background = { waitUntil: (one: Promise<unknown>) => void work.push(one) };
  const enforce = createEnforce({
    ...{ limiter: createLimiter({ policies, store: memoryStore() }), rateLimitHeaders: "both" as const },
    ...{ regionOf: () => "eu", anyOrigin: false },
    onSettled: [
      (answer, given) => {
        expect(given).toBe(background);
        found.push(answer);
      },
    ],
  });
  for (const answer of answers) {
    const request = new Request(CHAT, { method: "POST", body: JSON.stringify(BODY), ...init });
    await (await enforce(request, () => answer, background)).text();
    for (let i = 0; i < work.length; i++) await work[i];
  }
  return found;
}

it("tells what an answer has used, and who has answered", async () => {
  const answer = json({ model: "answers-001", usage: usageOf(30, 40) });
  expect(await told([answer])).toEqual([
    {
      ...{ settled: [{ policy: "tokens", paidFor: "tokens", units: 70 }], format: "openai-chat" },
      ...{ model: "asked", answeredBy: "answers-001", isEstimated: false },
      usage: { inputTokens: 30, cachedInputTokens: 0, cacheWriteTokens: 0, cacheWrite1hTokens: 0, outputTokens: 40 },
    },
  ]);
});

it("tells the units that stay charged if nobody knows what was used", async () => {
  vi.spyOn(console, "warn").mockImplementation(() => {});
  const found = await told([new Response("hello"), new Response(null, { status: 204 })]);
  expect(found).toMatchObject([
    { settled: [{ policy: "tokens", paidFor: "tokens", units: RESERVED }] },
    { settled: [{ policy: "tokens", paidFor: "tokens", units: RESERVED }] },
  ]);
  expect(found.filter(({ usage }) => usage)).toEqual([]);
});

it("tells nothing of what was given back, of a refusal, and of a request without a body", async () => {
  const small = { ...TOKENS, limits: [{ algorithm: "fixed-window", limit: 10, window: "1d" }] } as const;
  expect(await told([json({}, { status: 500 })])).toEqual([]);
  expect(await told([json({ usage: usageOf(30, 40) }), json({ usage: usageOf(1, 1) })], [small])).toHaveLength(1);
  expect(await told([json({})], [TOKENS], { method: "GET", body: null })).toEqual([]);
});

it("tells for whom an overflow was charged, beside another policy", async () => {
  const day = (limit: number) => [{ algorithm: "fixed-window", limit, window: "1d" }] as const;
  const policies: PolicyInput[] = [
    { ...TOKENS, name: "all", limits: day(100_000) },
    { ...TOKENS, name: "plan", limits: day(100), overflow: "team" },
    { ...TOKENS, name: "team", limits: day(1_000), overflow: "credits" },
    { ...TOKENS, name: "credits", limits: day(100_000) },
  ];
  const found = await told(
    [90, 900, 10].map((tokens) => json({ usage: usageOf(1, tokens - 1) })),
    policies,
  );
  const all = (units: number) => ({ policy: "all", paidFor: "all", units });
  expect(found.map(({ settled }) => settled)).toEqual([
    [all(90), { policy: "plan", paidFor: "plan", units: 90 }],
    [all(900), { policy: "team", paidFor: "plan", units: 900 }],
    [all(10), { policy: "credits", paidFor: "plan", units: 10 }],
  ]);
});
