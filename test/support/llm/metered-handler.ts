// A limiter in front of a handler that stands for a provider, with the counts in memory.

import type { RateLimitOptions } from "../../../src/features/rules/rules.ts";
import { Flag } from "../../../src/kernel/core/take.ts";
import type { Store } from "../../../src/kernel/store/store.ts";
import type { LimiterOptions } from "../../../src/limiter.ts";
import { createEnforce } from "../http/enforce.ts";
import { createLimiter } from "../limiter.ts";
import { recordingStore } from "../redis/stores.ts";

export type PolicyInput = LimiterOptions["policies"][number];

/** So many tokens a day, counted by a fixed window: what is used is what is missing. */
export const LIMIT = 100_000;

export const TOKENS: PolicyInput = {
  name: "tokens",
  key: "global",
  meter: { unit: "tokens" },
  limits: [{ algorithm: "fixed-window", limit: LIMIT, window: "1d" }],
};

export const CHAT = "https://gate.example/v1/chat/completions";

export interface MeteredHandler {
  /** Sends a chat request with this body. A text is sent as it is. */
  chat(body?: object | string, init?: RequestInit): Promise<Response>;
  send(request: Request): Promise<Response>;
  /** Units that are charged under a policy, when all work in the background is done. */
  used(policy?: string): Promise<number>;
  /** Fulfilled when all work in the background is done. */
  done(): Promise<void>;
  /** Calls of the store that charge or give back. */
  calls(): number;
}

export function meteredHandler(
  handler: (request: Request) => Response | Promise<Response>,
  policies: readonly PolicyInput[] = [TOKENS],
  options: RateLimitOptions<Request> & { readonly store?: Store } = {},
): MeteredHandler {
  const recording = recordingStore();
  const { store = recording, ...rules } = options;
  const limiter = createLimiter({ policies, store, ...(store !== recording && { onDecision: [] }) });
  const enforce = createEnforce({ limiter, rateLimitHeaders: "both", regionOf: () => "eu", anyOrigin: false, rules });
  const work: Promise<unknown>[] = [];
  const background = { waitUntil: (one: Promise<unknown>) => void work.push(one) };
  const send = (request: Request) => enforce(request, handler, background);
  const done = async () => {
    // Work may bring more work.
    for (let i = 0; i < work.length; i++) await work[i];
  };
  return {
    send,
    done,
    chat: async (body = {}, init = {}) => {
      const text = typeof body === "string" ? body : JSON.stringify(body);
      return await send(new Request(CHAT, { method: "POST", body: text, ...init }));
    },
    async used(policy = "tokens") {
      await done();
      const { limits, shadow } = await limiter.peek(policy);
      const [one] = [...limits, ...shadow];
      return one!.limit.limit - one!.remaining;
    },
    calls: () => recording.takes.filter(({ flag }) => flag !== Flag.look).length,
  };
}

const encoder = new TextEncoder();

export const data = (event: object | string) =>
  `data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`;
export const delta = (content: string) => data({ choices: [{ index: 0, delta: { content } }] });
export const usageOf = (prompt_tokens: number, completion_tokens: number) => ({ prompt_tokens, completion_tokens });
export const json = (body: object, init: ResponseInit = {}) => Response.json(body, init);

const SSE = { "Content-Type": "text/event-stream" };
export const stream = (...events: string[]) => new Response(events.join(""), { headers: SSE });

/** A stream whose events the test sends. */
export function openStream() {
  let controller!: ReadableStreamDefaultController<Uint8Array>;
  let cancel = (_reason: unknown) => {};
  const cancelled = new Promise<unknown>((resolve) => {
    cancel = resolve;
  });
  const body = new ReadableStream<Uint8Array>({
    start: (one) => {
      controller = one;
    },
    cancel: (reason) => cancel(reason),
  });
  return {
    response: new Response(body, { headers: SSE }),
    send: (event: string) => controller.enqueue(encoder.encode(event)),
    end: () => controller.close(),
    fail: () => controller.error(new Error("the provider is gone")),
    /** Fulfilled when the provider's answer was cancelled. */
    cancelled,
  };
}
