/** Texts that the page and the Markdown share. */

import type { LimitsDocument } from "./document.ts";

/** A part of a field, the field that it belongs to, and what it means. */
export const FIELDS: readonly (readonly [part: string, field: string, meaning: string])[] = [
  [
    "q, w",
    "RateLimit-Policy",
    "The quota in units, and the seconds that it is for. A quota that is used up is full again after at most twice as long.",
  ],
  [
    "r, t",
    "RateLimit",
    "The units left, and the seconds until there are more. There is no t when the quota is full or depends on other requests.",
  ],
  [
    "X-RateLimit-…",
    "X-RateLimit-Limit",
    "The same for the limit with the fewest units left. Reset: when there are more, in epoch seconds.",
  ],
];

/** Cloudflare's codes are the names of regions unless others are configured. `NA` alone looks like an empty cell. */
const CONTINENTS: Readonly<Record<string, string>> = {
  AF: "Africa",
  AN: "Antarctica",
  AS: "Asia",
  EU: "Europe",
  NA: "North America",
  OC: "Oceania",
  SA: "South America",
};

/** For people: `NA (North America)`, or the name as it is. */
export function describeRegion(name: string): string {
  return Object.hasOwn(CONTINENTS, name) ? `${name} (${CONTINENTS[name]})` : name;
}

/** Whether any limit counts per region. Without such a limit clients need not know of regions. */
export function isRegional({ regions }: LimitsDocument): boolean {
  return regions[0]!.policies.some(({ limits }) => limits.some(({ scope }) => scope === "region"));
}

/** What each limit is on each plan, for the policies that have plans. Undefined: no policy has any. */
export function planTable({ regions }: LimitsDocument) {
  const policies = regions[0]!.policies.filter(({ plans }) => plans);
  const names = [...new Set(policies.flatMap(({ plans = [] }) => plans.map(({ name }) => name)))];
  const rows = policies.flatMap(({ limits, plans = [] }) =>
    limits.map(({ id, description }, l) => ({
      id,
      cells: [
        description,
        ...names.map((of) => plans.find(({ name }) => name === of)?.limits[l]?.description ?? description),
      ],
    })),
  );
  return names.length > 0 ? { columns: ["without a plan", ...names], rows } : undefined;
}

/** The policies whose refusals have another status than 429. */
export function ownStatuses({ regions }: LimitsDocument): { readonly name: string; readonly status: number }[] {
  return regions[0]!.policies.flatMap(({ name, refusal: { status } = { status: 429 } }) =>
    status === 429 ? [] : [{ name, status }],
  );
}

/** What a request costs or counts under a policy, where that is special: it follows "Under <name>". */
export function ownCosts({ regions }: LimitsDocument): { readonly name: string; readonly meaning: string }[] {
  return regions[0]!.policies.flatMap(({ name, meter, counts, once }) => {
    const meanings = [meter && `a request costs ${meter.meaning}`, counts?.meaning, once?.meaning];
    return meanings.flatMap((meaning) => (meaning === undefined ? [] : [{ name, meaning }]));
  });
}

/** Follows a limit that counts for all regions together, in a table with a column for each region. */
export function together(columns: readonly string[]): string {
  return columns.length > 1 ? "together" : "in all regions";
}
