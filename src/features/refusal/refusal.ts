/** `refusal`: a policy answers in its own words. */

import type { Feature } from "../../kernel/http/feature.ts";
import type { Problem } from "../../kernel/http/problem.ts";
import { type Reason, refusalWith, secondsOf } from "../../kernel/http/refusal.ts";

/** With the policy's own status, by what they replace: one problem is answered many times. */
const problems = new WeakMap<Problem, Problem>();

export const refusal: Feature = {
  name: "refusal",
  isUsed: (policies) => policies.some((policy) => policy.refusal),
  around: (inner, options) => ({
    refuse(passage, reason) {
      const { problem, speaker } = reason;
      const own = speaker?.policy.refusal;
      if (!own) return inner.refuse(passage, reason);
      const { status = problem.status, type, body, code } = own;
      const said = { ...reason, code, problem: problems.get(problem) ?? { ...problem, status } };
      problems.set(problem, said.problem);
      if (body === undefined) return inner.refuse(passage, said);
      return refusalWith(passage.request, said, options, { type: type!, body: filled(body, reason) });
    },
  }),
};

function filled(body: string, { speaker, retryAfterMs }: Reason): string {
  const { policy, limit } = speaker!;
  const words: Readonly<Record<string, string>> = {
    "{retryAfter}": String(secondsOf(retryAfterMs) ?? null),
    "{policy}": policy.name,
    "{limit}": limit.id,
  };
  return body.replace(/\{\w+\}/g, (word) => words[word] ?? word);
}
