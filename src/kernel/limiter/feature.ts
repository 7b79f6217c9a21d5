/** A large capability that a program adds to its limiter: src/features has them. */

import { describeType } from "../check-options.ts";
import type { AddedFields } from "../config/fields/field.ts";
import type { Wrap } from "../place/flows/place.ts";
import type { LiveReader, LiveReaderOptions } from "./live.ts";
import type { PartOf } from "./part.ts";
import type { HttpFeature, LimiterFeature } from "./types.ts";

/** The same with what a limiter reads of it. */
export interface InsideFeature extends LimiterFeature {
  /** What it adds to the fields of policies. Absent: nothing. */
  readonly fields?: AddedFields;
  /** What it adds to the way in. Absent: nothing. */
  readonly http?: readonly HttpFeature[];
  /** What it adds to decisions. Absent: nothing. */
  readonly parts?: readonly PartOf[];
  /** How an isolate may answer in the store's stead. Absent: it does not. */
  readonly wrap?: Wrap;
  /** Makes what one limiter of this isolate keeps of the live document. */
  readonly liveReader?: (options: LiveReaderOptions) => LiveReader;
}

/**
 * @returns them in the order of `names`.
 * @param names those that there are.
 * @throws {TypeError} if it is not a list of these, each at most once.
 */
export function checkedFeatures(
  where: string,
  features: readonly LimiterFeature[],
  names: readonly string[],
): readonly InsideFeature[] {
  const calls = names.map((name) => `${name}()`).join(", ");
  if (!Array.isArray(features)) {
    throw new TypeError(`${where}: expected a list with any of ${calls}, found ${describeType(features)}`);
  }
  const seen = new Set<unknown>();
  for (const [i, feature] of features.entries()) {
    const name = (feature as { readonly name?: unknown } | null | undefined)?.name;
    const isKnown = names.some((one) => one === name);
    if (typeof feature !== "object" || !isKnown) {
      const found = typeof feature === "function" && isKnown ? `${name} without its ()` : describeType(feature);
      throw new TypeError(`${where}[${i}]: expected one of ${calls}, found ${found}`);
    }
    if (seen.has(name)) throw new TypeError(`${where}[${i}]: expected each feature once, found a second ${name}()`);
    seen.add(name);
  }
  return features.toSorted((one, other) => names.indexOf(one.name) - names.indexOf(other.name));
}
