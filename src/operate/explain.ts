/**
 * With `EXPLAIN = "on"` a refusal carries `Headgate-Explain`: the log line of this very refusal, and what was asked for
 * (docs/operate.md). It is sealed: whoever carries it can neither read nor change it. Only the gateway has it: it is
 * not a part of the library.
 */

import { describeCalls } from "../features/rpc/calls.ts";
import { calls } from "../features/rpc/on-the-way.ts";
import type { OwnRules } from "../features/rules/rules.ts";
import type { Decision } from "../kernel/core/decision.ts";
import type { OnDecision } from "../kernel/limiter/on-decision.ts";
import type { Explanation } from "./admin/answers.ts";
import { type DecisionLine, lineOf } from "./log.ts";
import { createSeal, mostTextBytes } from "./seal.ts";

const FIELD = "Headgate-Explain";
/** The longest token, in characters: a field of a header section that may hold 16 KiB in all. */
const MAX_TOKEN = 2_048;
const VERSION = 2;
const MAX_TEXT_BYTES = mostTextBytes(MAX_TOKEN);
const [MAX_METHOD, MAX_PATH] = [20, 200];
/** More limits and policies than fit into a token. */
const MOST = 20;

export type Explain = ReturnType<typeof createExplain>;
export type ReadExplanation = Explain["read"];

interface ExplainOptions {
  readonly keySecret: string | undefined;
  /** Stands in for the key secret if there is none. Nobody else may know it. */
  readonly fallback: string;
  /** The version of the live document that is in force in this isolate. */
  readonly version: () => number | undefined;
}

export function createExplain({ keySecret, fallback, version }: ExplainOptions) {
  const refusals = new WeakMap<Decision, Omit<Explanation, "method" | "path">>();
  const { seal, open } = createSeal({ purpose: "headgate explain", version: VERSION, keySecret, fallback });

  /** Keeps the line of a refusal until its answer is made. */
  const onDecision: OnDecision = (decision, context) => {
    // Only a refusal has an answer of ours that can carry a token.
    if (decision.allowed) return;
    refusals.set(decision, { ...lineOf(decision, context), version: version() ?? null });
  };

  /** They add the token to the refusal of a request. */
  const rules: OwnRules<Request> = {
    onDecision(decision, _, passage) {
      const [line, called] = [refusals.get(decision), calls.of(passage)];
      if (line && called) refusals.set(decision, { ...line, calls: describeCalls(called) });
    },
    async response(decision, { method, url, headers }, standard) {
      const line = refusals.get(decision)!;
      const path = new URL(url).pathname.slice(0, MAX_PATH);
      const text = fitting({ ...line, method: method.slice(0, MAX_METHOD), path });
      standard.headers.set(FIELD, await seal(text, Date.parse(line.at)));
      // Pages of another origin may read it, as the fields of the limits.
      if (headers.has("Origin")) standard.headers.append("Access-Control-Expose-Headers", FIELD);
      return standard;
    },
  };

  /** `old`: it was made more than 10 minutes ago. `foreign`: it is not what a gateway with this secret has made. */
  async function read(text: string, nowMs = Date.now()): Promise<Explanation | { readonly wrong: "old" | "foreign" }> {
    if (text.length > MAX_TOKEN) return { wrong: "foreign" };
    const opened = await open(text, nowMs);
    return "text" in opened ? JSON.parse(opened.text) : opened;
  }

  return { onDecision, rules, read };
}

const encoder = new TextEncoder();

/** The JSON of as many limits as fit, the most important first, and of their policies. */
function fitting(line: Explanation): string {
  for (let most = MOST; ; most--) {
    const limits = line.limits.slice(0, most);
    const isNamed = ({ policy }: DecisionLine["policies"][number]) => limits.some((limit) => limit.policy === policy);
    let spare = most - line.policies.filter(isNamed).length;
    const policies = line.policies.filter((one) => isNamed(one) || spare-- > 0);
    const omitted = {
      policies: line.policies.length - policies.length,
      limits: line.limits.length - limits.length,
    };
    const [violated, shadow] = [line.violated.slice(0, most), line.shadow.slice(0, most)];
    const isWhole = omitted.policies + omitted.limits === 0;
    const text = JSON.stringify({ ...line, policies, limits, violated, shadow, ...(!isWhole && { omitted }) });
    if (most === 0 || encoder.encode(text).length <= MAX_TEXT_BYTES) return text;
  }
}
