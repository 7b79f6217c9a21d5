/** The ban of clients that a policy has refused too often. */

import type { AllFields, ClientWords, FeatureFields } from "../../kernel/config/fields/field.ts";
import { type Mistake, mistakeAbout, type Parsed } from "../../kernel/config/mistake.ts";
import { formatDuration, sayDuration } from "../../kernel/core/duration.ts";
import { MAX_UNITS, MAX_WINDOW_MS } from "../../kernel/core/layout.ts";
import type { Policy } from "../../kernel/core/policy.ts";

/** Refusals are reported once a second. */
const LEAST_MS = 1_000;
const MOST_BANS = 8;

const duration = {
  is: "duration",
  leastMs: LEAST_MS,
  mostMs: MAX_WINDOW_MS,
  expected: 'a duration from 1s to 31d, for example "10m"',
} as const;

export const banFields = {
  fields: {
    ban: {
      is: "table",
      fields: {
        after: { is: "integer", least: 1, most: MAX_UNITS },
        within: duration,
        for: {
          is: "oneOrMore",
          of: duration,
          most: MOST_BANS,
          expected: `a duration from 1s to 31d, or a list of 1 to ${MOST_BANS} of them, for example ["10m", "1h", "1d"]`,
        },
      },
      expected: 'a table with after, within and for: { after = 20, within = "10m", for = ["10m", "1h", "1d"] }',
      isOptional: true,
      isOfHead: true,
    },
  },
  compile({ ban }) {
    if (ban === undefined) return {};
    const { after, within: withinMs, for: forMs } = ban;
    return { ban: { after, withinMs, forMs } };
  },
  together: idsApart,
  write({ ban }) {
    if (!ban) return {};
    const { after, withinMs, forMs } = ban;
    return { ban: { after, within: formatDuration(withinMs), for: forMs.map(formatDuration) } };
  },
} as const satisfies FeatureFields;

export const banId = (policy: string) => `${policy}-ban`;

/** A policy may have the name that names the ban of another one. */
function idsApart(policies: readonly Policy[], { pathOf }: AllFields): Parsed<readonly Policy[]> {
  const owners = new Map(policies.flatMap(({ name, limits }) => limits.map(({ id }) => [id, name])));
  const mistakes = policies.flatMap(({ name, ban }, i): Mistake[] => {
    const id = banId(name);
    const owner = owners.get(id);
    if (!ban || owner === undefined) return [];
    const expected = `no ban beside policy ${owner}, which has a limit with its id, ${id}; or another name`;
    return [mistakeAbout("ERR_POLICY_LIMIT_ID_TAKEN", `${pathOf(i)}.name`, expected, name)];
  });
  return mistakes.length > 0 ? { mistakes } : { value: policies };
}

export const banWords = {
  tell({ ban }) {
    if (!ban) return undefined;
    const { after, withinMs, forMs } = ban;
    const refusals = after === 1 ? "1 refusal" : `${after} refusals`;
    const times = forMs.map((ms) => sayDuration(ms));
    const first = `after ${refusals} within ${sayDuration(withinMs)}, all these requests are refused for ${times[0]}`;
    const meaning =
      times.length === 1 ? first : `${first}, and if that happens again, for ${times.slice(1).join(", then ")}`;
    return { ban: { after, withinMs, forMs, meaning } };
  },
  say: ({ ban }) => ({ next: ban?.meaning }),
} as const satisfies ClientWords;
