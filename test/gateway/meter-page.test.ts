// docs/llm.md: its examples through a real gateway.

import { parse } from "smol-toml";
import { expect, it } from "vitest";
import { blocksOf, sectionOf } from "../docs/markdown.ts";
import { startMeteredGateway } from "../support/llm/metered-gateway.ts";
import { mockPlan } from "../support/llm/plan.ts";

const [{ vars }, , { vars: gemini }] = blocksOf("docs/llm.md", "toml").map(({ text }) => parse(text)) as [
  { vars: { POLICIES: object[] } },
  unknown,
  { vars: { POLICIES: object[] } },
];

/** As the page says for Anthropic: policies of their own. */
const FOR_ANTHROPIC = vars.POLICIES.map((policy) => ({
  ...policy,
  match: { method: "POST", path: "/v1/messages" },
  key: ["header:x-api-key"],
}));

const start = async (policies: object[]) => await startMeteredGateway({ policies });

it("clients see the fields of the page, whichever way they tell their key", async () => {
  const { openai } = await start(vars.POLICIES);
  const { gateway, anthropic } = await start(FOR_ANTHROPIC);
  const role = "role user content".length - 2;
  const prompt = "x".repeat(12_345 - role);
  const usage = { inputTokens: 2_950, cachedInputTokens: 2_048, cacheWriteTokens: 0, outputTokens: 412 };
  const body = { model: "gpt-5-mini", max_tokens: 1_000, messages: [{ role: "user" as const, content: prompt }] };
  const answers: Response[] = [];
  // Nobody has used these keys before.
  const key = () => crypto.randomUUID();
  const headers = mockPlan({ usage });
  const chat = openai.withOptions({ apiKey: key() }).chat.completions.create(body, { headers });
  answers.push((await chat.withResponse()).response);
  const message = anthropic.withOptions({ apiKey: key() }).messages.create(body, { headers });
  answers.push((await message.withResponse()).response);
  // Other clients of Anthropic.
  for (const field of [key(), key()]) {
    const init = { method: "POST", body: JSON.stringify(body), headers: { ...headers, "x-api-key": field } };
    answers.push(await gateway.fetch("/v1/messages", init));
  }
  const page = sectionOf("docs/llm.md", "What clients see").replaceAll(/;t=\d+/g, "");
  for (const response of answers) {
    const fields = ["RateLimit-Policy", "RateLimit"].flatMap((name) => response.headers.get(name)!.split(/,\s*/));
    const named = fields
      .map((field) => field.replace(/;t=\d+/, ""))
      .filter((field) => !/"(tokens|dollars)-2"/.test(field));
    expect(named).toHaveLength(4);
    for (const field of named) expect(page).toContain(`\`${field}\``);
  }
});

it("the block for Gemini counts both methods, and neither `countTokens` nor `embedContent`", async () => {
  const { gateway } = await start(gemini.POLICIES);
  const counts = async (method: string) => {
    const headers = { "x-goog-api-key": crypto.randomUUID() };
    const path = `/v1beta/models/gemini-2.5-flash:${method}`;
    return (await gateway.fetch(path, { method: "POST", body: "{}", headers })).headers.has("RateLimit");
  };
  const methods = ["generateContent", "streamGenerateContent", "countTokens", "embedContent"];
  expect(await Promise.all(methods.map(counts))).toEqual([true, true, false, false]);
});
