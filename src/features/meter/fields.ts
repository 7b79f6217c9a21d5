/** What a request to a language model costs, known after its answer. */

import type { AddedFields, ClientWords, Unit } from "../../kernel/config/fields/field.ts";
import { largestCost } from "../../kernel/config/fields/limits.ts";
import { MAX_UNITS } from "../../kernel/core/layout.ts";
import type { Meter } from "../../kernel/core/policy.ts";
import { toUnits, toWritten } from "../../kernel/core/units.ts";

const PRICE = { is: "price", expected: "dollars per million tokens, 0 or more" } as const;
const OPTIONAL_PRICE = { ...PRICE, isOptional: true } as const;
const PRICES_EXAMPLE = "for example prices = { default = { input = 15, output = 75 } }";

const INPUTS = { input: PRICE, cachedInput: OPTIONAL_PRICE, cacheWrite: OPTIONAL_PRICE, cacheWrite1h: OPTIONAL_PRICE };

const STEP = {
  is: "table",
  fields: { ...INPUTS, output: OPTIONAL_PRICE },
  expected: "a table with input, and with the other prices that have another ratio to it",
} as const;

const NAMES = { form: /^[\w.:-]{1,64}$/, expected: "names of 1 to 64 letters, digits and _ . : -" };

const MODEL = {
  is: "table",
  fields: {
    ...INPUTS,
    output: PRICE,
    above: {
      is: "named",
      of: STEP,
      names: { form: /^[1-9]\d{0,8}$/, expected: "numbers of input tokens, 1 to 999999999" },
      expected:
        "a table of prices by the tokens of input, for example above = { 200000 = { input = 6, output = 22.5 } }",
      isOptional: true,
    },
    tier: {
      is: "named",
      of: {
        is: "price",
        isRight: (factor: number) => factor > 0 && factor <= 100,
        expected: "a factor above 0 and at most 100",
      },
      names: NAMES,
      expected: "a table of factors by service tier, for example tier = { priority = 1.75, flex = 0.5 }",
      isOptional: true,
    },
    call: {
      is: "named",
      of: { is: "price", expected: "dollars for each call, 0 or more" },
      names: NAMES,
      expected: "a table of dollars for each call by tool, for example call = { web_search = 0.01 }",
      isOptional: true,
    },
  },
  expected: "a table with input and output",
} as const;

const PRICES = {
  is: "named",
  of: MODEL,
  names: {
    form: /^[\w*.:/@+-]{1,128}$/,
    expected: "models of 1 to 128 letters, digits and * . _ : / @ + -",
  },
  required: { name: "default", expected: `prices for all other models, ${PRICES_EXAMPLE}` },
  expected: `a table of prices by model, ${PRICES_EXAMPLE}`,
} as const;

const WEIGHT = {
  is: "price",
  isRight: (weight: number) => weight <= 1_000 && Number.isInteger(Math.round(weight * 1e6) / 1e5),
  expected: "a weight of 0 to 1000 with at most one decimal",
  isOptional: true,
} as const;

const WEIGHTS = {
  is: "table",
  fields: { input: WEIGHT, cachedInput: WEIGHT, cacheWrite: WEIGHT, output: WEIGHT },
  expected: "a table of weights, for example weights = { input = 1, cachedInput = 0, output = 5 }",
  isOptional: true,
} as const;

export const meterFields = {
  unitOf,
  own: {
    /** A cost above a limit would refuse every such request, and not say why. */
    beside({ values, allLimits, unit, wrong }) {
      const cost: number | undefined = values.meter?.unmetered.cost;
      if (cost === undefined || unit === "none" || allLimits.length === 0) return;
      const smallest = Math.min(...allLimits.map(largestCost));
      if (toUnits(cost, unit) <= smallest) return;
      wrong(
        "ERR_POLICY_METER",
        "meter.unmetered.cost",
        `an unmetered cost of at most ${toWritten(smallest, unit)}, the smallest limit`,
        cost,
      );
    },
    fields: {
      meter: {
        is: "table",
        fields: {
          unit: { is: "word", words: ["tokens", "usd"] },
          maxOutput: { is: "integer", least: 1, most: MAX_UNITS, default: 4_096 },
          perImage: { is: "integer", least: 0, most: MAX_UNITS, default: 1_000 },
          unmetered: {
            is: "word",
            words: ["refuse"],
            default: "refuse",
            expected: '"refuse", or a table with the cost in what the limits count, for example { cost = 10 }',
            asTable: {
              is: "table",
              fields: { cost: { is: "units", most: MAX_UNITS } },
              expected: "a table with cost",
            },
          },
          onExceeded: { is: "word", words: ["finish", "cut"], default: "finish" },
          prices: {
            ...PRICES,
            isOptional: true,
            code: "ERR_POLICY_PRICES",
            besideMeter: {
              tokens: { is: "absent", isOptional: true, expected: 'no prices beside unit = "tokens"' },
              usd: PRICES,
            },
          },
          weights: {
            ...WEIGHTS,
            code: "ERR_POLICY_WEIGHTS",
            besideMeter: {
              tokens: WEIGHTS,
              usd: { is: "absent", isOptional: true, expected: 'no weights beside unit = "usd"' },
            },
          },
        },
        expected: 'a table with unit = "tokens" or unit = "usd"',
        isOptional: true,
      },
    },
  },
} as const satisfies AddedFields;

/** The unit of a policy as it was written; a wrong one counts as tokens, or with prices as dollars. */
function unitOf(policy: unknown): Unit {
  const { meter } = (policy ?? {}) as { meter?: { unit?: unknown; prices?: unknown } | null };
  if (meter === undefined) return "none";
  const { unit, prices } = meter ?? {};
  return unit === "usd" || (unit !== "tokens" && prices !== undefined) ? "usd" : "tokens";
}

const USED = {
  tokens: "the tokens that the model reads and writes",
  usd: "the price of the tokens that it uses",
};

/** The fields of answers tell units of 10 micro-dollars. */
const LEFT = ". GET /.headgate/limits/me says how many dollars you have left, and when they reset";

/** How much tokens count, if not all count 1. */
function weightsIn({ weights }: Meter): string {
  if (!weights) return "";
  const { input = 1, cachedInput = 1, cacheWrite = 1, output = 1 } = weights;
  return ` (an input token counts ${input}, a cached one ${cachedInput}, one written to a cache ${cacheWrite}, an output token ${output})`;
}

export const meterWords = {
  tell({ meter }) {
    if (!meter) return undefined;
    const used = `${USED[meter.unit]}${weightsIn(meter)}`;
    return { meter: { unit: meter.unit, meaning: `${used}, estimated before the answer and corrected after it` } };
  },
  say: ({ meter }) => ({ costs: meter && `a request costs ${meter.meaning}${meter.unit === "usd" ? LEFT : ""}` }),
} as const satisfies ClientWords;
