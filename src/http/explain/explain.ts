/**
 * With `EXPLAIN = "on"` a refusal carries `Headgate-Explain`: why this very request was refused, for operators to read
 * (docs/live.md). Only the gateway has it: it is not a part of the library.
 */

import { type ByOutcome, byOutcome, type Decision } from "../../core/decision.ts";
import { describeCalls } from "../../json-rpc/calls.ts";
import type { OnDecision } from "../../limiter.ts";
import { importSecret } from "../../partition/hmac.ts";
import type { OwnRules } from "../enforce.ts";
import { type Explained, type Explanation, pack, unpack } from "./explanation.ts";
import { createTokens } from "./token.ts";

const FIELD = "Headgate-Explain";

/** Only a refusal has an answer of ours that can carry a token. */
const IS_EXPLAINED: ByOutcome<boolean> = {
  admitted: () => false,
  refused: () => true,
  blocked: () => true,
  unavailable: () => true,
};

export interface Explain {
  /** Keeps what a refusal was about until its answer is made. */
  readonly onDecision: OnDecision;
  /** They add the token to the refusal of a request. */
  readonly rules: Pick<OwnRules<Request>, "onDecision" | "response">;
  read: ReadExplanation;
}

/** What a token tells. `old` and `foreign`: as in token.ts. */
export type ReadExplanation = (token: string) => Promise<Explanation | { readonly wrong: "old" | "foreign" }>;

interface ExplainOptions {
  readonly keySecret: string | undefined;
  /** Stands in for the key secret if there is none. Nobody else may know it. */
  readonly fallback: string;
  /** The version of the live document that is in force in this isolate. */
  readonly version: () => number | undefined;
}

export function createExplain({ keySecret, fallback, version }: ExplainOptions): Explain {
  const tokens = createTokens(() => importSecret(keySecret, fallback));
  const refusals = new WeakMap<Decision, Explained>();

  return {
    onDecision(decision, context) {
      if (!byOutcome(decision, IS_EXPLAINED)) return;
      refusals.set(decision, { atMs: Date.now(), decision, context, version: version() });
    },
    rules: {
      onDecision(decision, _, calls) {
        const explained = refusals.get(decision);
        if (explained && calls) refusals.set(decision, { ...explained, calls: describeCalls(calls) });
      },
      async response(decision, request, standard) {
        const explained = refusals.get(decision)!;
        standard.headers.set(FIELD, await tokens.seal(pack(explained, request), explained.atMs));
        // Pages of another origin may read it, as the fields of the limits.
        if (request.headers.has("Origin")) standard.headers.append("Access-Control-Expose-Headers", FIELD);
        return standard;
      },
    },
    async read(token) {
      const opened = await tokens.open(token, Date.now());
      return "wrong" in opened ? opened : unpack(opened.text);
    },
  };
}
