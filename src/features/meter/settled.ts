/** What listeners are told about an answer of a language model whose cost is known. */

import type { Background } from "../../kernel/place/taker.ts";
import type { Account, Units } from "./account.ts";
import type { Format } from "./llm/format.ts";
import type { AnswerScanner } from "./llm/scanner.ts";
import type { Usage } from "./llm/usage.ts";

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

/** An answer that was settled, and what it has used. */
export interface SettledAnswer extends CountedAnswer {
  readonly format: Format | undefined;
  /** The model that was asked. */
  readonly model: string | undefined;
  readonly usage?: Usage;
  /** Whether the answer has stated no usage: these are the tokens of its text. */
  readonly isEstimated: boolean;
}

/** Called when an answer is settled, and not if everything is given back. */
export type OnSettled = (answer: SettledAnswer, background: Background | undefined) => void;

/** @param units what it is settled with. @param scanner has read the answer. Absent: nobody could, or need. */
export function settledAnswer(account: Account, units: Units, scanner: AnswerScanner | undefined): SettledAnswer {
  const { format, model, inputTokens } = account.estimate();
  const stated = scanner?.usage();
  const usage = stated ?? scanner?.streamed();
  const answer = {
    settled: account.payers.map(({ name, paidFor }) => ({ policy: name, paidFor, units: units[name]! })),
    format,
    model,
    answeredBy: scanner?.model(),
    isEstimated: !stated,
  };
  if (!usage) return answer;
  return { ...answer, usage: Number.isNaN(usage.inputTokens) ? { ...usage, inputTokens } : usage };
}
