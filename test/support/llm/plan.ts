// What a test asks of the mock provider, for one request. It travels in a header: the body stays the client's own.

/** The header that carries a plan, as JSON. */
export const PLAN_HEADER = "x-mock-plan";

export type MockFormat =
  | "openai-chat"
  | "openai-responses"
  | "openai-embeddings"
  | "anthropic-messages"
  | "google-gemini";

/** Kinds of output. `search` is run by the provider: what it finds is in the answer, and the model has not said it. */
export type PartKind = "text" | "refusal" | "reasoning" | "tool" | "search";

/** What an answer says it has used. Input is all input, whatever the format calls it. */
export interface MockUsage {
  readonly inputTokens: number;
  /** The part of the input that was read from a cache. */
  readonly cachedInputTokens: number;
  /** The part of the input that was written to a cache. Only Anthropic tells it. */
  readonly cacheWriteTokens: number;
  readonly outputTokens: number;
  /** The part of the output that was reasoning. OpenAI and Gemini tell it. */
  readonly reasoningTokens: number;
}

export interface MockPlan {
  /** Everything that is random follows from it. Default 1. */
  readonly seed: number;
  /** Output tokens: every delta of a stream is one. A stream is made as it is sent. Default 16. */
  readonly tokens: number;
  /** What the output consists of, in this order. Default `["text"]`. */
  readonly parts: readonly PartKind[];
  /** Numbers that the answer tells instead of those that follow from the seed and the output. */
  readonly usage: Partial<MockUsage>;
  /** The answer tells no usage at all. */
  readonly omitUsage: boolean;
  /** How bytes are written: one write an event (default), or so many bytes a write. */
  readonly chunk: "event" | number;
  /** Milliseconds before each write. Default 0. */
  readonly delayMs: number;
  /** The end of a line in a stream. Default `\n`. */
  readonly newline: "\n" | "\r\n";
  /** An error with this status instead of an answer. */
  readonly status?: number;
  /** `incomplete`: the model reached its maximum. */
  readonly end: "complete" | "incomplete";
  /** After so many events the answer waits for `resume()` of the provider, or for ever. 0: also before an error. */
  readonly holdAfter?: number;
}

const DEFAULTS: MockPlan = {
  seed: 1,
  tokens: 16,
  parts: ["text"],
  usage: {},
  omitUsage: false,
  chunk: "event",
  delayMs: 0,
  newline: "\n",
  end: "complete",
};

/** Header fields that ask for a plan, for the `headers` option of a client. */
export const mockPlan = (plan: Partial<MockPlan>): Record<string, string> => ({ [PLAN_HEADER]: JSON.stringify(plan) });

export const readPlan = (header: string | undefined): MockPlan => ({
  ...DEFAULTS,
  ...(header === undefined ? {} : (JSON.parse(header) as Partial<MockPlan>)),
});
