// Gemini through a real gateway and a real Redis, with Google's own client: what is charged is the provider's
// `usageMetadata`, however the answer comes and however it ends. meter-counts.test.ts has random requests.

import { parse } from "smol-toml";
import { afterAll, beforeAll, expect, it } from "vitest";
import { blocksOf } from "../docs/markdown.ts";
import { uniqueName } from "../support/gateway/gateway.ts";
import { type MeteredGateway, startMeteredGateway } from "../support/llm/metered-gateway.ts";
import type { MockExchange } from "../support/llm/mock-provider.ts";
import { type MockPlan, mockPlan } from "../support/llm/plan.ts";
import { atATime, watchSlots } from "../support/redis/slots.ts";

const NAME = uniqueName("gemini");
const [TOKENS, DOLLARS, SLOTS] = ["tokens", "dollars", "slots"].map((end) => `${NAME}-${end}`) as [
  string,
  string,
  string,
];
const limits = (limit: number) => [{ algorithm: "fixed-window", limit, window: "31d" }];
/** The example of the page: both methods, and neither `countTokens` nor `embedContent`. */
const { vars } = parse(blocksOf("docs/llm.md", "toml")[1]!.text) as {
  vars: { POLICIES: [{ match: object; key: string[] }] };
};
const [{ match, key }] = vars.POLICIES;
const prices = { "gemini-2.5-flash": { input: 1, cachedInput: 0, output: 10 }, default: { input: 1_000, output: 0 } };

let metered: MeteredGateway;
let slots: ReturnType<typeof watchSlots>;
const stops: (() => unknown)[] = [];
beforeAll(async () => {
  metered = await startMeteredGateway({
    policies: [
      { name: TOKENS, match, key, meter: { unit: "tokens" }, limits: limits(1e9) },
      { name: DOLLARS, match, key, meter: { unit: "usd", prices }, limits: limits(10_000) },
      { name: SLOTS, match, key: ["global"], limits: [atATime(10)] },
    ],
    stopAfter: (stop) => stops.push(stop),
  });
  slots = watchSlots(SLOTS, metered.redis);
});
afterAll(async () => {
  for (const stop of stops.reverse()) await stop();
});

const last = (): MockExchange => metered.provider.exchanges.at(-1)!;
const counted = async () =>
  [(await metered.counted(TOKENS))[0] ?? 0, (await metered.counted(DOLLARS))[0] ?? 0] as const;

/** Runs a request. @returns tokens and units of 10 micro-dollars that are charged for it in the end. */
async function chargedBy(run: () => Promise<unknown>) {
  const before = await counted();
  await run();
  // The call that settles frees the slot.
  await slots.free();
  const after = await counted();
  return { tokens: after[0] - before[0], units: after[1] - before[1] };
}

/** What the provider has told last. */
function told() {
  const { inputTokens, cachedInputTokens, outputTokens } = last().usage!;
  const units = Math.ceil((inputTokens - cachedInputTokens + 10 * outputTokens) / 10);
  return { tokens: inputTokens + outputTokens, units };
}

const PLAN: Partial<MockPlan> = { parts: ["reasoning", "text", "tool"], tokens: 60, seed: 4 };
const bodyOf = (plan: Partial<MockPlan>, model = "gemini-2.5-flash") => ({
  model,
  contents: "How many?",
  config: { maxOutputTokens: 200, httpOptions: { headers: mockPlan(plan) } },
});

it("an answer in JSON costs its usage: found and cached input, and thoughts", async () => {
  const { models } = metered.google;
  const charged = await chargedBy(async () => {
    const { usageMetadata } = await models.generateContent(bodyOf(PLAN));
    for (const name of ["toolUsePromptTokenCount", "cachedContentTokenCount", "thoughtsTokenCount"] as const) {
      expect(usageMetadata![name]).toBeGreaterThan(0);
    }
  });
  expect(charged).toEqual(told());
  expect(last().url).toBe("/v1/models/gemini-2.5-flash:generateContent");
});

it("a stream of events costs the last usage that it tells, and reserves the maximum while it runs", async () => {
  const { models } = metered.google;
  const before = await counted();
  const charged = await chargedBy(async () => {
    const stream = await models.generateContentStream(bodyOf({ ...PLAN, holdAfter: 3 }));
    // "How many?", its role, and the names of three members.
    expect((await counted())[0] - before[0]).toBe(Math.ceil(("How many?" + "userroletextparts").length / 4) + 200);
    metered.provider.resume();
    for await (const _ of stream);
  });
  expect(charged).toEqual(told());
  expect(last().url).toBe("/v1/models/gemini-2.5-flash:streamGenerateContent?alt=sse");
});

it.each([
  "/v1beta/models/gemini-2.5-flash:streamGenerateContent",
  "/v1/projects/p/locations/global/publishers/google/models/gemini-2.5-flash:streamGenerateContent",
])("a stream of a list in JSON costs the last usage that it tells, and is not held back: %s", async (path) => {
  const charged = await chargedBy(async () => {
    const answer = await metered.gateway.fetch(path, {
      method: "POST",
      body: JSON.stringify({ contents: [{ parts: [{ text: "Hi" }] }] }),
      headers: { "x-goog-api-key": "key", ...mockPlan({ ...PLAN, holdAfter: 2 }) },
    });
    const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (!text.includes('"thought":true')) text += (await reader.read()).value;
    metered.provider.resume();
    for (let read = await reader.read(); !read.done; read = await reader.read()) text += read.value;
    expect(JSON.parse(text).at(-1).modelVersion).toBe("gemini-2.5-flash-001");
  });
  expect(charged).toEqual(told());
});

it("a stream that its client leaves costs what was told to it by then, or a little more", async () => {
  const { models } = metered.google;
  let read = 0;
  const leave = new AbortController();
  const charged = await chargedBy(async () => {
    const body = bodyOf({ tokens: 1e9, delayMs: 10, seed: 9 });
    const config = { ...body.config, abortSignal: leave.signal };
    const stream = await models.generateContentStream({ ...body, config });
    const reading = async () => {
      for await (const { usageMetadata } of stream) {
        read =
          usageMetadata!.promptTokenCount! +
          usageMetadata!.toolUsePromptTokenCount! +
          usageMetadata!.candidatesTokenCount!;
        if (usageMetadata!.candidatesTokenCount === 30) leave.abort();
      }
    };
    await expect(reading()).rejects.toThrow();
    await last().closed;
  });
  expect(last().clientGone).toBe(true);
  expect(charged.tokens).toBeGreaterThanOrEqual(read);
  expect(charged.tokens).toBeLessThanOrEqual(told().tokens);
});
