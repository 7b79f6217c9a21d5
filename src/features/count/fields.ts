/** What stays charged, by the status of the answer. */

import type { ClientWords, FeatureFields } from "../../kernel/config/fields/field.ts";
import { ALGORITHMS, canGiveBack, expectAlgorithms } from "../../kernel/config/fields/limits.ts";
import type { PolicyInput } from "../../kernel/config/policy-input.ts";
import { counts, isException, NOT } from "./status.ts";

const TERM = /^(?:all|failures|successes|(?:not )?[1-5](?:\d\d|xx))$/;

const STATUSES = Array.from({ length: 500 }, (_, i) => 100 + i);

export const countFields = {
  fields: {
    count: {
      is: "oneOrMore",
      of: { is: "text", form: TERM },
      // A policy that counts no status would admit everything.
      isRight: (terms: readonly string[]) => STATUSES.some((status) => counts(terms, status)),
      default: "all",
      expected:
        '"all", "failures", "successes", statuses ("401", "5xx"), or a list of them, to which "not 304" may follow',
      besideMeter: {
        is: "word",
        words: ["all"],
        default: "all",
        expected: '"all" beside meter, which counts what was used',
      },
      isOfHead: true,
    },
  },
  /** Units can come back only to limits that give back exactly what was charged, and only if nothing is leased. */
  beside(checked) {
    const { count, consistency = "strict" } = checked.values;
    if (isAll(count)) return;
    const beside = `beside count = ${JSON.stringify(asWritten(count))}`;
    if (consistency !== "strict") checked.wrong("ERR_POLICY_COUNT", "consistency", `"strict" ${beside}`);
    const expected = `one of ${ALGORITHMS.filter(canGiveBack).join(", ")} ${beside}`;
    expectAlgorithms(checked, canGiveBack, "ERR_POLICY_COUNT", expected);
  },
  compile: ({ count }) => (isAll(count) ? {} : { count }),
  write: ({ count }) => (count ? { count: asWritten(count) as PolicyInput["count"] } : {}),
} as const satisfies FeatureFields;

/** Whether a checked value counts every request. Beside a meter it is a word. */
function isAll(count: string | readonly string[] = "all"): boolean {
  return count.includes("all") && !(Array.isArray(count) && count.some(isException));
}

function asWritten(terms: readonly string[]): string | readonly string[] {
  return terms.length === 1 ? terms[0]! : terms;
}

const MEANINGS: Readonly<Record<string, string>> = {
  all: "all requests count",
  failures: "only failed requests count: those answered with a status of 400 or more",
  successes: "only successful requests count: those answered with a status below 400",
};

const COUNTED: Readonly<Record<string, `${string} requests`>> = {
  failures: "failed requests",
  successes: "successful requests",
};

function meaningOf(terms: readonly string[]): string {
  const words = terms.filter((term) => term in MEANINGS);
  const statuses = terms.filter((term) => !(term in MEANINGS) && !isException(term));
  const others = terms.filter(isException).map((term) => term.slice(NOT.length));
  const counted = words.includes("all") ? [MEANINGS.all!] : words.map((term) => MEANINGS[term]!);
  if (statuses.length > 0 && !words.includes("all")) {
    counted.push(
      `${words.length > 0 ? "also" : "only"} requests that are answered with ${statuses.join(" or ")} count`,
    );
  }
  if (others.length > 0) counted.push(`except those answered with ${others.join(" or ")}`);
  return counted.join(", ");
}

export const countWords = {
  tell: ({ count }) => count && { counts: { only: count.join(", "), meaning: meaningOf(count) } },
  say: ({ counts }) => ({ costs: counts?.meaning }),
  counted: ({ count }) => count && (COUNTED[count.join()] ?? "counted requests"),
} as const satisfies ClientWords;
