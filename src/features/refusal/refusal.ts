/** `refusal`: a policy answers in its own words. */

import type { PolicyRefusal } from "../../kernel/core/policy.ts";
import type { Feature } from "../../kernel/http/feature.ts";
import type { Problem } from "../../kernel/http/problem.ts";
import { type Reason, refusalWith, secondsOf, refusal as standard } from "../../kernel/http/refusal.ts";
import { OK } from "./fields.ts";
import { formOf } from "./forms.ts";

/** With the policy's own status, by what they replace: one problem is answered many times. */
const problems = new WeakMap<Problem, Problem>();

export const refusal: Feature = {
  name: "refusal",
  isUsed: (policies) => policies.some((policy) => policy.refusal),
  around: (inner, options) => ({
    refuse(passage, reason) {
      const own = reason.speaker?.policy.refusal;
      if (!own) return inner.refuse(passage, reason);
      const { as, type, body } = own;
      const { request } = passage;
      const said = inOwnWords(reason, own);
      if (body !== undefined) return refusalWith(request, said, options, { type: type!, body: filled(body, reason) });
      if (as === "problem") return standard(request, said, options);
      const form = as === "auto" ? formOf(request, said) : undefined;
      return form ? refusalWith(request, said, options, form) : inner.refuse(passage, said);
    },
  }),
};

function inOwnWords(reason: Reason, { status, code }: PolicyRefusal): Reason {
  if (status === OK) return { ...reason, code, formStatus: OK };
  const { problem } = reason;
  const own = problems.get(problem) ?? { ...problem, status };
  problems.set(problem, own);
  return { ...reason, code, problem: own };
}

function filled(body: string, { speaker, retryAfterMs }: Reason): string {
  const { policy, limit } = speaker!;
  const words: Readonly<Record<string, string>> = {
    "{retryAfter}": String(secondsOf(retryAfterMs) ?? null),
    "{policy}": policy.name,
    "{limit}": limit.id,
  };
  return body.replace(/\{\w+\}/g, (word) => words[word] ?? word);
}
