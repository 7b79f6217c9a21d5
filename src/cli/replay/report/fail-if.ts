/** `--fail-if`: what a pull request must not do. */

import { Misuse } from "../../io.ts";
import type { Summary } from "../engine/replay.ts";
import { count, percent } from "./report.ts";

interface FailIf {
  /** As it was written. */
  readonly text: string;
  readonly measure: string;
  /** Undefined: over all policies. */
  readonly policy: string | undefined;
  /** Equality is enough. */
  readonly isEnough: boolean;
  readonly number: number;
  /** The number is a percentage. */
  readonly isShare: boolean;
}

const GRAMMAR =
  "expected <what> [of <policy>] <> or >=> <number or percentage>, for example 'refused > 1%', " +
  "'newly-refused of api > 0' or 'damaged >= 0.1%'. What: refused, newly-refused, newly-admitted, skipped or damaged; " +
  "'of <policy>' with the first three";
const CONDITION =
  /^\s*(?:(refused|newly-refused|newly-admitted)(?:\s+of\s+(\S+?))?|(skipped|damaged))\s*(>=?)\s*(\d+(?:\.\d+)?)\s*(%?)\s*$/;

/**
 * @param names of the policies of all configurations. @param hasCandidates whether there is something to compare with.
 * @throws {Misuse}
 */
export function parseFailIf(text: string, names: readonly string[], hasCandidates: boolean): FailIf {
  const [, ofRequests, policy, other, sign, number, percentSign] = CONDITION.exec(text) ?? [];
  const measure = ofRequests ?? other;
  if (measure === undefined) throw new Misuse(`--fail-if: ${GRAMMAR}`);
  if (measure.startsWith("newly") && !hasCandidates) throw new Misuse(`--fail-if '${text}': there is no candidate`);
  if (policy !== undefined && !names.includes(policy))
    throw new Misuse(`--fail-if '${text}': no policy is named ${policy}; there are ${names.join(", ")}`);
  return { text, measure, policy, isEnough: sign === ">=", number: Number(number), isShare: percentSign === "%" };
}

/**
 * A sentence for each configuration that fails. Candidates are judged, if there are some.
 *
 * @param damaged lines that could not be read.
 */
export function findFailures(
  condition: FailIf,
  { configurations, comparisons, log }: Summary,
  damaged: number,
): string[] {
  const { text, measure, policy, isEnough, number, isShare } = condition;
  const judged = configurations.length > 1 ? configurations.slice(1) : configurations;
  return judged.flatMap(({ name, requests, policies, skipped }, i) => {
    const compared = comparisons[i];
    const counted = policy === undefined ? requests : policies.find((one) => one.policy === policy);
    const changed = policy === undefined ? compared?.requests : compared?.policies.find((one) => one.policy === policy);
    const measures: Readonly<
      Record<string, readonly [part: number | undefined, whole: number | undefined, of: string]>
    > = {
      damaged: [damaged, log.lines, "lines"],
      skipped: [skipped.length, skipped.length + policies.length, "policies"],
      refused: [counted?.refused, counted?.requests, "requests"],
      "newly-refused": [changed?.newlyRefused.requests, counted?.requests, "requests"],
      "newly-admitted": [changed?.newlyAdmitted.requests, counted?.requests, "requests"],
    };
    const [part, whole, of] = measures[measure]!;
    if (part !== undefined && whole !== undefined) {
      // Rounded, so that 0.7 % of 1,000 lines are 7 lines exactly.
      const bound = isShare ? Number(((number * whole) / 100).toFixed(9)) : number;
      const isOver = isEnough ? part >= bound && whole > 0 : part > bound;
      if (isOver) return [`${text}: ${count(part)} of ${count(whole)} ${of} of ${name} (${percent(part, whole)})`];
    }
    // Nothing can be said of a policy that was not replayed. Silence would look like success.
    const enforced = skipped.flatMap((one) => (one.mode === "enforce" ? [one.policy] : []));
    let unknown: readonly string[] = policy !== undefined && part === undefined ? [policy] : [];
    if (policy === undefined && measure === "refused") unknown = enforced;
    if (policy === undefined && measure.startsWith("newly")) unknown = compared!.unknown;
    return unknown.length > 0
      ? [`${text}: not known for ${name}, which was replayed without ${unknown.join(", ")}`]
      : [];
  });
}
