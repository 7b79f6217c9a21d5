/** `--fail-if`: what a pull request must not do. */

import { Misuse } from "../../io.ts";
import type { Summary } from "../engine/replay.ts";
import { count, percent } from "./report.ts";

const MEASURES: readonly string[] = ["refused", "newly-refused", "newly-admitted", "skipped", "damaged"];

interface FailIf {
  /** As it was written. */
  readonly text: string;
  /** One of `MEASURES`. */
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

const CONDITION = /^\s*([a-z-]+)(?:\s+of\s+(\S+?))?\s*(>=|>)\s*(\d+(?:\.\d+)?)\s*(%?)\s*$/;

/** @throws {Misuse} */
export function parseFailIf(text: string): FailIf {
  const [, measure = "", policy, sign, number, percentSign] = CONDITION.exec(text) ?? [];
  const hasNoPolicy = measure === "skipped" || measure === "damaged";
  if (!MEASURES.includes(measure) || (policy && hasNoPolicy)) throw new Misuse(`--fail-if: ${GRAMMAR}`);
  const isShare = percentSign === "%";
  return { text: text.trim(), measure, policy, isEnough: sign === ">=", number: Number(number), isShare };
}

/**
 * Checks what can be checked before the log is read.
 *
 * @param names of the policies of each configuration. @throws {Misuse} if nothing could ever be found.
 */
export function checkFailIf({ text, measure, policy }: FailIf, names: readonly (readonly string[])[]): void {
  const isComparing = measure === "newly-refused" || measure === "newly-admitted";
  if (isComparing && names.length < 2) throw new Misuse(`--fail-if '${text}': there is no candidate to compare with`);
  if (policy === undefined) return;
  const judged = isComparing || names.length === 1 ? names : names.slice(1);
  const known = judged.reduce((all, one) => all.filter((name) => one.includes(name)));
  if (known.includes(policy)) return;
  const where = isComparing ? "all configurations" : "the configuration";
  throw new Misuse(`--fail-if '${text}': expected a policy of ${where}: ${known.join(", ") || "there is none"}`);
}

/** A part, and the whole for shares. */
type Found = readonly [part: number, whole: number, ofWhat: string];

/**
 * Candidates are judged, if there are some: each of them.
 *
 * @param damaged lines that could not be read. @returns a sentence for each that fails.
 */
export function findFailures(condition: FailIf, summary: Summary, damaged: number): string[] {
  const judged = summary.configurations.slice(summary.configurations.length > 1 ? 1 : 0);
  return judged.flatMap((_, i) => findFailure(condition, summary, damaged, i) ?? []);
}

function findFailure(condition: FailIf, summary: Summary, damaged: number, judged: number): string | undefined {
  const { text, policy } = condition;
  const found = measured(condition, summary, damaged, judged);
  if (found && isOver(condition, found)) {
    const [part, whole, ofWhat] = found;
    return `${text}: ${count(part)} of ${count(whole)} ${ofWhat} (${percent(part, whole)})`;
  }
  // Nothing can be said of a policy that was not replayed. Silence would look like success.
  const unknown = policy === undefined ? unknownIn(condition, summary, judged) : found ? [] : [policy];
  if (unknown.length === 0) return undefined;
  return `${text}: not known, because ${unknown.join(", ")} ${unknown.length === 1 ? "was" : "were"} not replayed`;
}

/** Rounded, so that 0.7 % of 1,000 lines are 7 lines exactly. */
function isOver({ isEnough, number, isShare }: FailIf, [part, whole]: Found): boolean {
  const bound = isShare ? Number(((number * whole) / 100).toFixed(9)) : number;
  return isEnough ? part >= bound && whole > 0 : part > bound;
}

/** The enforced policies without which the sum over all policies is not known. */
function unknownIn({ measure }: FailIf, summary: Summary, judged: number): readonly string[] {
  if (measure === "damaged" || measure === "skipped") return [];
  if (measure !== "refused") return summary.comparisons[judged]!.unknown;
  return configurationOf(summary, judged).skipped.flatMap(({ policy, mode }) => (mode === "enforce" ? [policy] : []));
}

function configurationOf({ configurations }: Summary, judged: number): Summary["configurations"][number] {
  return configurations[configurations.length > 1 ? judged + 1 : 0]!;
}

function measured(condition: FailIf, summary: Summary, damaged: number, judged: number): Found | undefined {
  const { measure, policy: name } = condition;
  const { requests, policies, skipped } = configurationOf(summary, judged);
  if (measure === "damaged") return [damaged, summary.log.lines, "lines"];
  if (measure === "skipped") return [skipped.length, skipped.length + policies.length, "policies"];
  const counted = name === undefined ? requests : policies.find(({ policy }) => policy === name);
  if (!counted) return undefined;
  if (measure === "refused") return [counted.refused, counted.requests, "requests"];
  const compared = summary.comparisons[judged]!;
  const changed = name === undefined ? compared.requests : compared.policies.find(({ policy }) => policy === name);
  if (!changed) return undefined;
  const { newlyRefused, newlyAdmitted } = changed;
  return [(measure === "newly-refused" ? newlyRefused : newlyAdmitted).requests, counted.requests, "requests"];
}
