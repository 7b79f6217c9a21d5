// Chat completions as https://console.groq.com/docs/api-reference documents them: those of OpenAI, but a stream tells
// its usage without being asked, in `x_groq` of its last chunk.

import type { MockAnswer, MockEvent } from "./answer.ts";
import { chatJson, chatStream } from "./openai-chat.ts";
import type { MockUsage } from "./plan.ts";

const ID = "req_01jbd6g2qdfw2adyrt2az8hz4w";

const withoutUsage = (answer: MockAnswer): MockAnswer => ({
  ...answer,
  plan: { tier: "on_demand", ...answer.plan, omitUsage: true },
});

/** Usage as Groq tells it: with seconds beside the tokens. */
const groqUsage = ({ inputTokens, cachedInputTokens, outputTokens, reasoningTokens }: MockUsage) => ({
  queue_time: 0.037493756,
  prompt_tokens: inputTokens,
  prompt_time: 0.000680594,
  completion_tokens: outputTokens,
  completion_time: 0.463333333,
  total_tokens: inputTokens + outputTokens,
  total_time: 0.464013927,
  prompt_tokens_details: { cached_tokens: cachedInputTokens },
  completion_tokens_details: { reasoning_tokens: reasoningTokens },
});

export const groqJson = (answer: MockAnswer): object => ({
  ...chatJson(withoutUsage(answer)),
  ...(answer.plan.omitUsage ? {} : { usage: groqUsage(answer.usage) }),
  x_groq: { id: ID },
});

export function* groqStream(answer: MockAnswer): Generator<MockEvent> {
  let before: MockEvent | undefined;
  for (const event of chatStream(withoutUsage(answer))) {
    const isLast = event.data === "[DONE]";
    if (before) yield isLast && !answer.plan.omitUsage ? telling(before, answer.usage) : before;
    before = event;
  }
  yield before!;
}

function telling(event: MockEvent, usage: MockUsage): MockEvent {
  const chunk = { ...JSON.parse(event.data), x_groq: { id: ID, usage: groqUsage(usage) } };
  return { ...event, data: JSON.stringify(chunk), usage };
}
