/** Variables and secrets that are one value, and options of a program with the same meaning. */

import type { Field as PlainField, ValueOf } from "../../core/named.ts";
import type { Get, Wrong } from "../bindings.ts";
import type { Mistake, MistakeCode } from "../mistake.ts";
import type { Field } from "./field.ts";
import { read } from "./read.ts";

/** By the name of the binding. The code of each is `ERR_` and its name. */
export type Settings = Readonly<Record<string, Field & PlainField>>;

/** Once a second is about 2.6 million calls a month for one isolate. Nobody would wait longer than an hour. */
export const INTERVAL = {
  is: "duration",
  leastMs: 1_000,
  mostMs: 3_600_000,
  canBeNone: true,
  default: "30s",
  expected: "a duration from 1s to 1h, or 0s: never",
} as const;

/**
 * The value of a setting. One that is wrong counts as absent.
 *
 * @param option of a program, with the same meaning. Absent: the setting is a binding.
 */
export function readSetting<S extends Settings, N extends keyof S & string>(
  settings: S,
  name: N,
  get: Get,
  wrong: Wrong,
  option: string = name,
): ValueOf<S[N]> {
  const field = settings[name]!;
  const mistakes: Mistake[] = [];
  const place = { path: option, code: `ERR_${name}` as MistakeCode, unit: "none", mistakes } as const;
  const written = get(option);
  const value = read(field, written, place);
  for (const { code, path, expected } of mistakes) {
    const isHidden = field.isSecret && written !== undefined;
    wrong(code, path, expected, isHidden ? "a value that is not shown" : written);
  }
  return (value ?? read(field, undefined, { ...place, mistakes: [] })) as ValueOf<S[N]>;
}
