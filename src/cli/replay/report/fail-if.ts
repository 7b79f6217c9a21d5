/** `--fail-if`: what a pull request must not do. */

import { Misuse } from "../../io.ts";
import type { Summary } from "../engine/replay.ts";
import { count, percent } from "./report.ts";

const GRAMMAR =
  "expected refused, newly-refused or newly-admitted, perhaps 'of <policy>', then > and a number or a percentage, " +
  "for example 'refused > 1%' or 'newly-refused of api > 0'";
const CONDITION = /^\s*(refused|newly-refused|newly-admitted)(?:\s+of\s+(\S+?))?\s*>\s*(\d+(?:\.\d+)?)\s*(%?)\s*$/;

/**
 * @param text as it was written. @param names of the policies of all configurations. @param hasCandidates whether there
 * is something to compare with. @returns without `policy`: over all policies. @throws {Misuse}
 */
export function parseFailIf(text: string, names: readonly string[], hasCandidates: boolean) {
  const [, measure, policy, number, percentSign] = CONDITION.exec(text) ?? [];
  if (measure === undefined) throw new Misuse(`--fail-if '${text}': ${GRAMMAR}`);
  if (measure !== "refused" && !hasCandidates) throw new Misuse(`--fail-if '${text}': there is no candidate`);
  if (policy !== undefined && !names.includes(policy))
    throw new Misuse(`--fail-if '${text}': no policy is named ${policy}; there are ${names.join(", ")}`);
  return { text, measure, policy, number: Number(number), isShare: percentSign === "%" };
}

type FailIf = ReturnType<typeof parseFailIf>;

/** A sentence for each configuration that fails. Candidates are judged, if there are some. */
export function findFailures({ text, measure, policy, number, isShare }: FailIf, summary: Summary): string[] {
  const [present, ...candidates] = summary.configurations;
  return (candidates.length > 0 ? candidates : [present!]).flatMap(({ name, requests, policies, skipped }) => {
    const counted = policy === undefined ? requests : policies.find((one) => one.policy === policy);
    const { newlyRefused, newlyAdmitted } = counted?.changes ?? {};
    const change = measure === "newly-refused" ? newlyRefused : newlyAdmitted;
    const part = measure === "refused" ? counted?.refused : change?.requests;
    if (counted && part !== undefined) {
      const whole = counted.requests;
      // Rounded, so that 0.7 % of 1,000 requests are 7 requests exactly.
      const bound = isShare ? Number(((number * whole) / 100).toFixed(9)) : number;
      if (part > bound)
        return [`${text}: ${count(part)} of ${count(whole)} requests of ${name} (${percent(part, whole)})`];
    }
    // Nothing can be said of a policy that was not replayed. Silence would look like success.
    const enforced = skipped.filter(({ mode }) => mode === "enforce").map((one) => one.policy);
    const ofPolicy = part === undefined ? [policy] : [];
    const unknown = policy === undefined ? enforced : ofPolicy;
    if (unknown.length === 0) return [];
    return [`${text}: not known for ${name}, which was replayed without ${unknown.join(", ")}`];
  });
}
