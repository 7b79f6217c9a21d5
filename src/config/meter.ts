/**
 * The fields of a policy's `meter`. Like patterns they are checked by themselves: a limiter that is asked by hand does
 * not carry their rules.
 */

import { MAX_UNITS } from "../core/layout.ts";
import { isTable } from "./bindings.ts";
import { describeValue, type Mistake, type MistakeCode } from "./mistake.ts";

const MODEL = /^[\w*.:/@+-]{1,128}$/;
const FIELDS = ["unit", "maxOutput", "perImage", "onExceeded", "prices"];
const PRICE_FIELDS = ["input", "cachedInput", "output"];
const EXAMPLE = "for example prices = { default = { input = 15, output = 75 } }";

/** Every mistake in a policy's meter but that of its `unit`. @param policy as it was written, or understood. */
export function meterMistakes(policy: unknown, place: string): Mistake[] {
  const { meter } = (policy ?? {}) as { meter?: unknown };
  if (!isTable(meter)) return [];
  const { unit, maxOutput = 1, perImage = 0, onExceeded = "finish", prices } = meter;
  const path = `${place}.meter`;
  const wrong = (code: MistakeCode, field: string, expected: string, found: unknown): Mistake => {
    return { code, path: `${path}.${field}`, expected, found: describeValue(found) };
  };
  return [
    ...unknownFields(meter, FIELDS, path),
    ...(isInteger(maxOutput, 1)
      ? []
      : [wrong("ERR_POLICY_METER", "maxOutput", `an integer from 1 to ${MAX_UNITS}`, maxOutput)]),
    ...(isInteger(perImage, 0)
      ? []
      : [wrong("ERR_POLICY_METER", "perImage", `an integer from 0 to ${MAX_UNITS}`, perImage)]),
    ...(onExceeded === "finish" || onExceeded === "cut"
      ? []
      : [wrong("ERR_POLICY_METER", "onExceeded", '"finish" or "cut"', onExceeded)]),
    ...(unit === "tokens" && prices !== undefined
      ? [wrong("ERR_POLICY_PRICES", "prices", 'no prices beside unit = "tokens"', prices)]
      : []),
    ...(unit === "usd" ? pricesMistakes(prices, path) : []),
  ];
}

function pricesMistakes(prices: unknown, path: string): Mistake[] {
  const wrong = (place: string, expected: string, found: unknown): Mistake => {
    return { code: "ERR_POLICY_PRICES", path: `${path}.prices${place}`, expected, found: describeValue(found) };
  };
  if (!isTable(prices)) return [wrong("", `a table of prices by model, ${EXAMPLE}`, prices)];
  const hasDefault = Object.hasOwn(prices, "default");
  return [
    ...(hasDefault ? [] : [wrong(".default", `prices for all other models, ${EXAMPLE}`, undefined)]),
    ...Object.entries(prices).flatMap(([model, price]): Mistake[] => {
      if (!MODEL.test(model)) return [wrong("", "models of 1 to 128 letters, digits and * . _ : / @ + -", model)];
      if (!isTable(price)) return [wrong(`.${model}`, "a table with input and output", price)];
      const { input, cachedInput = 0, output } = price;
      return [
        ...unknownFields(price, PRICE_FIELDS, `${path}.prices.${model}`),
        ...Object.entries({ input, cachedInput, output })
          .filter(([, dollars]) => !isPrice(dollars))
          .map(([field, dollars]) => wrong(`.${model}.${field}`, "dollars per million tokens, 0 or more", dollars)),
      ];
    }),
  ];
}

function unknownFields(table: object, known: readonly string[], path: string): Mistake[] {
  const expected = `only the fields ${known.join(", ")}`;
  return Object.entries(table)
    .filter(([field]) => !known.includes(field))
    .map(([field, found]) => ({
      code: "ERR_POLICY_FIELD",
      path: `${path}.${field}`,
      expected,
      found: describeValue(found),
    }));
}

/** Numbers may be text. */
function numberOf(value: unknown): unknown {
  return typeof value === "string" && /^\d{1,10}(\.\d{1,20})?$/.test(value) ? Number(value) : value;
}

function isInteger(value: unknown, min: number): boolean {
  const number = numberOf(value) as number;
  return Number.isInteger(number) && number >= min && number <= MAX_UNITS;
}

function isPrice(value: unknown): boolean {
  const number = numberOf(value);
  return Number.isFinite(number) && (number as number) >= 0;
}
