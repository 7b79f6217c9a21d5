/** `cost = { answer = "x-cost" }`: the answer says what its request has cost. A form of the kernel's field `cost`. */

import type { AllFields, Checked, ClientWords, FeatureFields } from "../../kernel/config/fields/field.ts";
import { expectAlgorithms, largestCost } from "../../kernel/config/fields/limits.ts";
import { type Mistake, mistakeAbout } from "../../kernel/config/mistake.ts";
import type { AlgorithmName } from "../../kernel/core/algorithms.ts";
import { MAX_UNITS } from "../../kernel/core/layout.ts";
import type { Policy } from "../../kernel/core/policy.ts";
import { FIELD_NAME } from "../../kernel/request/sources.ts";

/** Where an answer says what its request has cost. */
export interface StatedCost {
  /** The header of the answer, in lower case. */
  readonly answer: string;
  /** Units that are counted until the answer has come, 1 or more. */
  readonly reserve: number;
  /** Whether the client sees the header. */
  readonly keep: boolean;
}

declare module "../../kernel/core/policy.ts" {
  interface Policy {
    /** The answer says what the request has cost; `cost` is what is reserved before. Absent: `cost` says it. */
    readonly statedCost?: StatedCost;
  }
}

/** The field `cost` that is written as a table. */
export const statedCostForm = {
  is: "table",
  fields: {
    answer: {
      is: "text",
      form: new RegExp(`^(?=.{1,64}$)${FIELD_NAME}$`),
      kept: (name: string) => name.toLowerCase(),
      expected:
        'the name of a header, 1 to 64 characters: answer = "x-cost"; rules stand in a list: cost = [{ path = "/v1/search", cost = 100 }]',
    },
    reserve: { is: "integer", least: 1, most: MAX_UNITS, default: 1 },
    keep: { is: "flag", default: false },
  },
  expected: '{ answer = "x-cost", reserve = 10 }',
} as const;

/** Algorithms that give back exactly what was counted, and count above their limit for one window only. */
const WINDOWS: readonly AlgorithmName[] = ["sliding-window", "fixed-window", "calendar"];
const isWindow = (algorithm: AlgorithmName) => WINDOWS.includes(algorithm);

export const statedCostFields = {
  fields: {},
  beside(checked) {
    const { cost, consistency = "strict" } = checked.values;
    if (cost === undefined || Array.isArray(cost)) return;
    const { count = "all", once } = checked.written;
    const beside = "beside cost.answer";
    const wrong = (field: string, expected: string) => checked.wrong("ERR_POLICY_COST", field, expected);
    if (consistency !== "strict") wrong("consistency", `"strict" ${beside}`);
    if ([count].flat().some((term) => term !== "all")) wrong("count", `"all" ${beside}: the answer says what it costs`);
    if (once !== undefined) wrong("once", `no once ${beside}: a repeat has an answer of its own`);
    expectAlgorithms(checked, isWindow, "ERR_POLICY_COST", `one of ${WINDOWS.join(", ")} ${beside}`);
    expectAdmitted(checked, cost.reserve);
  },
  compile: ({ cost }) => (Array.isArray(cost) ? {} : { cost: [{ cost: cost.reserve }], statedCost: cost }),
  write: ({ statedCost }) => (statedCost ? { cost: statedCost } : {}),
  together: (policies, all) => {
    const mistakes = policies.flatMap((policy, i) => chainMistakes(policy, i, all));
    return mistakes.length > 0 ? { mistakes } : { value: policies };
  },
} as const satisfies FeatureFields;

function expectAdmitted(checked: Checked, reserve: number): void {
  const smallest = Math.min(...checked.allLimits.map(largestCost));
  if (reserve <= smallest) return;
  const expected = `at most the policy's smallest limit, ${smallest}: a larger reservation would never be admitted`;
  checked.wrong("ERR_POLICY_COST_NEVER", "cost.reserve", expected, reserve);
}

/** Whoever pays for the policy is settled as the policy is. */
function chainMistakes({ statedCost, chain = [], isOverflow }: Policy, i: number, { pathOf }: AllFields): Mistake[] {
  if (!statedCost || isOverflow) return [];
  return chain.flatMap(({ name, limits, consistency }) => {
    const unfit = limits.find(({ algorithm }) => !isWindow(algorithm))?.algorithm;
    const found = unfit ?? (consistency === "strict" ? undefined : `consistency = "${consistency}"`);
    if (found === undefined) return [];
    const expected = `an overflow that counts strictly by ${WINDOWS.join(", ")} beside cost.answer`;
    return [mistakeAbout("ERR_POLICY_OVERFLOW", `${pathOf(i)}.overflow`, expected, `${name} with ${found}`)];
  });
}

export const statedCostWords = {
  tell({ statedCost }) {
    if (!statedCost) return undefined;
    const { answer, reserve, keep } = statedCost;
    const where = keep ? `, in the header ${answer}` : "";
    const units = reserve === 1 ? "1 unit is" : `${reserve} units are`;
    const meaning = `the answer decides what a request costs${where}: ${units} counted before it, and corrected after it`;
    return { statedCost: { reserve, ...(keep && { header: answer }), meaning } };
  },
  say: ({ statedCost }) => ({ costs: statedCost?.meaning }),
} as const satisfies ClientWords;
