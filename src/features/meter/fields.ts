/** What a request to a language model costs, known after its answer. */

import type { AddedFields, ClientWords, Unit } from "../../kernel/config/fields/field.ts";
import { MAX_UNITS } from "../../kernel/core/layout.ts";

const PRICE = { is: "price", expected: "dollars per million tokens, 0 or more" } as const;
const PRICES_EXAMPLE = "for example prices = { default = { input = 15, output = 75 } }";

const PRICES = {
  is: "named",
  of: {
    is: "table",
    fields: { input: PRICE, cachedInput: { ...PRICE, isOptional: true }, output: PRICE },
    expected: "a table with input and output",
  },
  names: {
    form: /^[\w*.:/@+-]{1,128}$/,
    expected: "models of 1 to 128 letters, digits and * . _ : / @ + -",
  },
  required: { name: "default", expected: `prices for all other models, ${PRICES_EXAMPLE}` },
  expected: `a table of prices by model, ${PRICES_EXAMPLE}`,
} as const;

export const meterFields = {
  unitOf,
  own: {
    fields: {
      meter: {
        is: "table",
        fields: {
          unit: { is: "word", words: ["tokens", "usd"] },
          maxOutput: { is: "integer", least: 1, most: MAX_UNITS, default: 4_096 },
          perImage: { is: "integer", least: 0, most: MAX_UNITS, default: 1_000 },
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

export const meterWords = {
  tell: ({ meter }) =>
    meter && {
      meter: { unit: meter.unit, meaning: `${USED[meter.unit]}, estimated before the answer and corrected after it` },
    },
  say: ({ meter }) => ({ costs: meter && `a request costs ${meter.meaning}` }),
} as const satisfies ClientWords;
