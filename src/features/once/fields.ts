/** Repeats of a request, which are admitted without a charge. */

import type { ClientWords, FeatureFields } from "../../kernel/config/fields/field.ts";
import { describePart, sourceBut } from "../../kernel/config/fields/key.ts";
import { expectAlgorithms } from "../../kernel/config/fields/limits.ts";
import { formatDuration, sayDuration } from "../../kernel/core/duration.ts";
import { MAX_REPEATS, ONCE_MS_RANGE } from "../../kernel/core/layout.ts";
import { ADDRESSES } from "../../kernel/request/sources.ts";

export const onceFields = {
  fields: {
    // The sources that a client sets.
    once: { ...sourceBut(...ADDRESSES, "asn", "global", "country", "host", "region"), isOfHead: true },
    onceFor: {
      is: "duration",
      leastMs: ONCE_MS_RANGE.min,
      mostMs: ONCE_MS_RANGE.max,
      default: "1m",
      expected: 'a duration from 1s to 1h, for example "60s"',
    },
    repeats: { is: "integer", least: 1, most: MAX_REPEATS, default: 2 },
  },
  beside(checked) {
    const { once, onceFor, repeats, meter, count = "all" } = checked.written;
    if (once === undefined) {
      const needed = "once beside it, which says where a request names itself";
      if (onceFor !== undefined) checked.wrong("ERR_POLICY_ONCE_FOR", "onceFor", needed);
      if (repeats !== undefined) checked.wrong("ERR_POLICY_REPEATS", "repeats", needed);
      return;
    }
    const wrong = (field: string, expected: string) => checked.wrong("ERR_POLICY_ONCE", field, expected);
    if (meter !== undefined) wrong("once", "no once beside meter: a repeat asks the model again");
    if ([count].flat().some((term) => term !== "all"))
      wrong("count", '"all" beside once, which counts a request before its status is known');
    const expected = "another algorithm beside once: a repeat needs a slot like any other request";
    expectAlgorithms(checked, (algorithm) => algorithm !== "concurrency", "ERR_POLICY_ONCE", expected);
  },
  compile: ({ once, onceFor, repeats }) =>
    once === undefined ? {} : { once: { source: once, forMs: onceFor, repeats } },
  write: ({ once }) =>
    once === undefined ? {} : { once: once.source, onceFor: formatDuration(once.forMs), repeats: once.repeats },
} as const satisfies FeatureFields;

export const onceWords = {
  tell({ once }) {
    if (!once) return undefined;
    const { source, forMs, repeats } = once;
    const times = repeats === 1 ? "once" : `${repeats} times`;
    const meaning = `the same request with the same ${describePart(source)} is not counted again within ${sayDuration(forMs)}, at most ${times}`;
    return { once: { source, forMs, repeats, meaning } };
  },
  say: ({ once }) => ({ costs: once?.meaning }),
} as const satisfies ClientWords;
