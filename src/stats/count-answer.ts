/** What the answer of a language model means as counts. */

import type { Tally } from "./tally.ts";

/** An answer that was settled, as far as metrics look at it. */
export interface CountedAnswer {
  readonly settled: readonly {
    /** A policy with a meter that was charged. */
    readonly policy: string;
    /** The policy that the request matched: the same, or one whose overflow it is. */
    readonly paidFor: string;
    readonly units: number;
  }[];
  /** The model that has answered, as the answer names it. */
  readonly answeredBy: string | undefined;
  /** Absent: nobody knows it, and what was reserved stays charged. */
  readonly usage?: { readonly inputTokens: number; readonly outputTokens: number } | undefined;
}

/** The object takes series of at most 200 characters, and two policies have up to 32 of them each. */
const MAX_MODEL = 64;
/** In place of a model: the answer names none. */
const UNNAMED = "unnamed";
/** The most tokens of an answer. An origin may state any number, and one that is no integer would spoil a batch. */
const MAX_TOKENS = 1_000_000_000;

export function countAnswer(tally: Tally, { settled, answeredBy, usage }: CountedAnswer): void {
  const model = nameOf(answeredBy);
  for (const { policy, paidFor, units } of settled) {
    if (units > 0) tally.add(["settled_units", policy, paidFor, model], units);
    if (!usage) continue;
    for (const [type, tokens] of [
      ["input", usage.inputTokens],
      ["output", usage.outputTokens],
    ] as const) {
      if (tokens > 0) tally.add(["tokens", policy, model, type], Math.min(MAX_TOKENS, Math.ceil(tokens)));
    }
  }
}

/** An origin may send any text. */
function nameOf(model = ""): string {
  return model.slice(0, MAX_MODEL).replace(/[^\x20-\x7e]/g, "?") || UNNAMED;
}
