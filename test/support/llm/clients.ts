// The real clients of the providers, asked in one way for every format, and what each has read of `usage`.

import Anthropic from "@anthropic-ai/sdk";
import { type GenerateContentResponseUsageMetadata, GoogleGenAI, ServiceTier } from "@google/genai";
import OpenAI from "openai";
import { type MockFormat, type MockPlan, mockPlan } from "./plan.ts";

export interface Ask {
  readonly format: MockFormat;
  readonly stream: boolean;
  readonly model: string;
  /** What the model is asked. */
  readonly prompt: string;
  /** Absent: the request names no maximum. Anthropic's needs one: 1,024. */
  readonly maxTokens?: number;
  /** The service tier that is asked for. Anthropic has none that costs more, and Groq none here. */
  readonly tier?: "flex" | "priority";
  readonly headers?: Readonly<Record<string, string>>;
  readonly plan: Partial<MockPlan>;
}

/** Tokens as a client has read them. */
export interface ReadUsage {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
}

export interface Clients {
  readonly openai: OpenAI;
  readonly anthropic: Anthropic;
  readonly google: GoogleGenAI;
  /** Reads the whole answer. @throws what the client throws. */
  ask(ask: Ask): Promise<ReadUsage>;
}

/** The formats that can stream, and embeddings, which cannot. */
export const WAYS: readonly (readonly [format: MockFormat, stream: boolean])[] = [
  ["openai-chat", false],
  ["openai-chat", true],
  ["groq-chat", false],
  ["groq-chat", true],
  ["openai-responses", false],
  ["openai-responses", true],
  ["anthropic-messages", false],
  ["anthropic-messages", true],
  ["openai-embeddings", false],
  ["google-gemini", false],
  ["google-gemini", true],
];

/** @param url of a gateway or a provider; the clients add `/v1`, and Groq's `/openai/v1`. */
export function clientsOf(url: string, maxRetries = 0, fetch: typeof globalThis.fetch = globalThis.fetch): Clients {
  const base = url.replace(/\/$/, "");
  const openai = new OpenAI({ apiKey: "key", baseURL: `${base}/v1`, maxRetries, fetch });
  const groq = new OpenAI({ apiKey: "key", baseURL: `${base}/openai/v1`, maxRetries, fetch });
  const anthropic = new Anthropic({ apiKey: "key", baseURL: base, maxRetries, fetch });
  // It tries again only if it is told to, and obeys no field for the wait.
  const google = new GoogleGenAI({ apiKey: "key", httpOptions: { baseUrl: base, fetch } });

  const readChat = (usage: OpenAI.CompletionUsage | null | undefined): ReadUsage => ({
    input: usage!.prompt_tokens,
    cached: usage!.prompt_tokens_details!.cached_tokens!,
    output: usage!.completion_tokens,
  });

  const asks: Record<MockFormat, (ask: Ask, headers: Record<string, string>) => Promise<ReadUsage>> = {
    async "openai-chat"({ model, prompt, maxTokens, tier, stream }, headers) {
      const body = {
        model,
        messages: [{ role: "user" as const, content: prompt }],
        ...(maxTokens !== undefined && { max_completion_tokens: maxTokens }),
        ...(tier && { service_tier: tier }),
      };
      if (!stream) return readChat((await openai.chat.completions.create(body, { headers })).usage);
      const more = { stream: true, stream_options: { include_usage: true } } as const;
      let usage: OpenAI.CompletionUsage | null | undefined;
      for await (const chunk of await openai.chat.completions.create({ ...body, ...more }, { headers })) {
        usage = chunk.usage;
      }
      return readChat(usage);
    },

    async "groq-chat"({ model, prompt, maxTokens, stream }, headers) {
      const body = {
        model,
        messages: [{ role: "user" as const, content: prompt }],
        ...(maxTokens !== undefined && { max_completion_tokens: maxTokens }),
      };
      if (!stream) return readChat((await groq.chat.completions.create(body, { headers })).usage);
      let usage: OpenAI.CompletionUsage | undefined;
      for await (const chunk of await groq.chat.completions.create({ ...body, stream: true }, { headers })) {
        usage = (chunk as { x_groq?: { usage: OpenAI.CompletionUsage } }).x_groq?.usage;
      }
      return readChat(usage);
    },

    async "openai-responses"({ model, prompt, maxTokens, tier, stream }, headers) {
      const body = {
        model,
        input: prompt,
        ...(maxTokens !== undefined && { max_output_tokens: maxTokens }),
        ...(tier && { service_tier: tier }),
      };
      let response: OpenAI.Responses.Response | undefined;
      if (stream) {
        for await (const event of await openai.responses.create({ ...body, stream: true }, { headers })) {
          if ("response" in event) response = event.response;
        }
      } else response = await openai.responses.create(body, { headers });
      const usage = response!.usage!;
      return {
        input: usage.input_tokens,
        cached: usage.input_tokens_details.cached_tokens,
        output: usage.output_tokens,
      };
    },

    async "openai-embeddings"({ model, prompt }, headers) {
      const { usage } = await openai.embeddings.create({ model, input: prompt }, { headers });
      return { input: usage.prompt_tokens, cached: 0, output: 0 };
    },

    async "anthropic-messages"({ model, prompt, maxTokens = 1024, stream }, headers) {
      const body = { model, max_tokens: maxTokens, messages: [{ role: "user" as const, content: prompt }] };
      const message = stream
        ? await anthropic.messages.stream(body, { headers }).finalMessage()
        : await anthropic.messages.create(body, { headers });
      const { input_tokens, cache_creation_input_tokens, cache_read_input_tokens, output_tokens } = message.usage;
      const cached = cache_read_input_tokens!;
      return { input: input_tokens + cache_creation_input_tokens! + cached, cached, output: output_tokens };
    },

    async "google-gemini"({ model, prompt, maxTokens, tier, stream }, headers) {
      const config = {
        httpOptions: { headers },
        ...(maxTokens !== undefined && { maxOutputTokens: maxTokens }),
        ...(tier && { serviceTier: tier === "flex" ? ServiceTier.FLEX : ServiceTier.PRIORITY }),
      };
      const body = { model, contents: prompt, config };
      let usage: GenerateContentResponseUsageMetadata | undefined;
      if (stream) {
        for await (const { usageMetadata } of await google.models.generateContentStream(body)) usage = usageMetadata;
      } else usage = (await google.models.generateContent(body)).usageMetadata;
      const { promptTokenCount = 0, toolUsePromptTokenCount = 0, cachedContentTokenCount = 0 } = usage!;
      const { candidatesTokenCount = 0, thoughtsTokenCount = 0 } = usage!;
      return {
        input: promptTokenCount + toolUsePromptTokenCount,
        cached: cachedContentTokenCount,
        output: candidatesTokenCount + thoughtsTokenCount,
      };
    },
  };
  return { openai, anthropic, google, ask: (ask) => asks[ask.format](ask, { ...mockPlan(ask.plan), ...ask.headers }) };
}

/** Runs `work` for 0 … count - 1, so many at a time. */
export async function atOnce(count: number, most: number, work: (i: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: Math.min(most, count) }, worker));
}
