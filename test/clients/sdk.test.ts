// Refusals of policies without a meter, as the SDKs of APIs understand them: the real clients of OpenAI and Anthropic.

import * as anthropic from "@anthropic-ai/sdk";
import * as openai from "openai";
import { beforeAll, expect, it } from "vitest";
import { type Gateway, startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { clientsOf } from "../support/llm/clients.ts";
import { startMockProvider } from "../support/llm/mock-provider.ts";

const NAME = uniqueName("sdk");
const FORMATS = ["openai-chat", "anthropic-messages"] as const;
const policyOf = (kind: string) => ({
  ...{ name: `${NAME}-${kind}`, match: { path: `/${kind}/*` }, key: "global" },
  limits: [{ algorithm: "sliding-log", limit: 1, window: "1d" }],
});

let gateway: Gateway;
const stops: (() => unknown)[] = [];
beforeAll(async () => {
  const provider = await startMockProvider();
  stops.push(() => provider.close());
  gateway = await startGateway(
    {
      policies: FORMATS.map((_, i) => policyOf(`long-${i}`)),
      vars: { ORIGIN_URL: provider.url },
    },
    (stop) => stops.push(stop),
  );
  return async () => {
    for (const stop of stops.reverse()) await stop();
  };
});

/** Asks through a real client, and keeps its answers. */
function clientOf(kind: string, maxRetries: number) {
  const answers: { readonly status: number; readonly headers: Headers }[] = [];
  const { ask } = clientsOf(`${gateway.url.href}${kind}`, maxRetries, async (...request) => {
    const response = await fetch(...request);
    answers.push({ status: response.status, headers: response.headers });
    return response;
  });
  const once = (format: (typeof FORMATS)[number]) =>
    ask({ format, stream: false, model: "m", prompt: "Hi", maxTokens: 10, plan: { tokens: 2 } });
  return { once, answers };
}

it.each(FORMATS.map((format, i) => [format, i] as const))(
  "%s: a long refusal is an error with the sentence, and is not tried again",
  async (format, i) => {
    const { once, answers } = clientOf(`long-${i}`, 2);
    await once(format);
    const error = await once(format).catch((thrown) => thrown);

    expect(error).toBeInstanceOf(format === "openai-chat" ? openai.RateLimitError : anthropic.RateLimitError);
    expect(error.message).toMatch(/Over the limit .*1 per 1d.*Try again in \d+ seconds/);
    if (format === "openai-chat") expect(error).toMatchObject({ code: "quota_exceeded", type: "rate_limit" });
    expect(answers.map(({ status }) => status)).toEqual([200, 429]);
    expect(answers[1]!.headers.get("X-Should-Retry")).toBe("false");
  },
);
