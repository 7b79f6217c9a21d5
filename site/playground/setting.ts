/** What a visitor of the playground chooses, and how a link holds it. */

import type { PolicyInput } from "../../src/kernel/config/policy-input.ts";

type LimitInput = PolicyInput["limits"][number];

/** The algorithms that the playground shows. Slots of `concurrency` depend on how long requests take. */
export const ALGORITHMS = ["sliding-window", "fixed-window", "token-bucket", "leaky-bucket", "sliding-log"] as const;
export const CONSISTENCIES = ["strict", "leased", "shared"] as const;
/** How requests arrive, in words: traffic.ts says what each means. */
export const SHAPES = {
  boundary: "at a boundary",
  steady: "evenly",
  random: "at random",
  bursts: "in bursts",
  drawn: "as you draw",
} as const;
export const ON_FAILURE = ["local", "allow", "deny"] as const;

/** Where requests arrive. */
export interface Location {
  /** To the store and back, ms. */
  readonly roundTripMs: number;
  /** How far its clock is ahead of the store's, ms; negative: behind. */
  readonly clockMs: number;
}

export interface Setting {
  readonly algorithm: (typeof ALGORITHMS)[number];
  readonly limit: number;
  readonly windowS: number;
  /** Of a sliding window. */
  readonly buckets: number;
  /** Of a bucket: requests that may come at once. */
  readonly burst: number;
  readonly consistency: (typeof CONSISTENCIES)[number];
  /** Under `shared`, ms. */
  readonly syncMs: number;
  readonly onStoreFailure: (typeof ON_FAILURE)[number];
  readonly locations: readonly Location[];
  readonly shape: keyof typeof SHAPES;
  /** Requests per window, over all locations. */
  readonly demand: number;
  /** With `drawn`: the height of each tenth of a window, 0 … 9. */
  readonly drawn: string;
  /** For how many windows requests arrive. */
  readonly windows: number;
  /** The store has no answer from here on, in seconds; with `outageToS`. Equal: it always answers. */
  readonly outageFromS: number;
  readonly outageToS: number;
  /** Whether a refused client asks once more, when it was told to. */
  readonly retries: boolean;
  /** Of the randomness. */
  readonly seed: number;
}

export const DEFAULT_SETTING: Setting = {
  algorithm: "sliding-window",
  limit: 50,
  windowS: 10,
  buckets: 1,
  burst: 50,
  consistency: "strict",
  syncMs: 1_000,
  onStoreFailure: "local",
  locations: [{ roundTripMs: 0, clockMs: 0 }],
  shape: "boundary",
  demand: 500,
  drawn: "0137999731",
  windows: 3,
  outageFromS: 0,
  outageToS: 0,
  retries: false,
  seed: 1,
};

/** The numbers of a setting that are not in a table of their own, with their ranges. */
export const RANGES = {
  limit: { least: 1, most: 10_000, label: "Limit per window" },
  windowS: { least: 1, most: 3_600, label: "Window, s" },
  buckets: { least: 1, most: 60, label: "Buckets of a window" },
  burst: { least: 1, most: 10_000, label: "Burst, requests" },
  syncMs: { least: 100, most: 60_000, label: "Sync, ms" },
  demand: { least: 0, most: 20_000, label: "Requests per window" },
  windows: { least: 1, most: 20, label: "Windows shown" },
  outageFromS: { least: 0, most: 72_000, label: "Store down from, s" },
  outageToS: { least: 0, most: 72_000, label: "Store down until, s" },
  seed: { least: 1, most: 1_000_000, label: "Random seed" },
} as const;
export const LOCATION_RANGES = {
  roundTripMs: { least: 0, most: 2_000, label: "Round trip, ms" },
  clockMs: { least: -60_000, most: 60_000, label: "Clock ahead, ms" },
} as const;
export const MOST_LOCATIONS = 5;
/** The most requests of one run. */
export const MOST_REQUESTS = 20_000;

/** Which fields the algorithm of a setting has. */
export function limitInputOf({ algorithm, limit, windowS, buckets, burst }: Setting): LimitInput {
  const window = `${windowS}s` as const;
  switch (algorithm) {
    case "sliding-window":
      return { algorithm, limit, window, buckets };
    case "token-bucket":
    case "leaky-bucket":
      return { algorithm, limit, window, burst };
    default:
      return { algorithm, limit, window };
  }
}

/** The policy that the setting is about, as an operator writes it. */
export function policyInputOf(setting: Setting): PolicyInput {
  const { consistency, onStoreFailure, syncMs } = setting;
  const sync = consistency === "shared" && { sync: `${syncMs}ms` as const };
  return { name: "api", key: "ip", limits: [limitInputOf(setting)], consistency, onStoreFailure, ...sync };
}

/** What differs from the default, as a query. The same setting gives the same text. */
export function toQuery(setting: Setting): string {
  const query = new URLSearchParams();
  for (const name of Object.keys(DEFAULT_SETTING) as (keyof Setting)[]) {
    const written = textOf(setting[name]);
    if (written !== textOf(DEFAULT_SETTING[name])) query.set(name, written);
  }
  return query.toString();
}

const textOf = (value: Setting[keyof Setting]) => (typeof value === "object" ? locationsText(value) : String(value));

/** A setting from a link. What a link does not say, or says wrong, is as in the default. */
export function fromQuery(text: string): Setting {
  const query = new URLSearchParams(text);
  const word = <W extends string>(name: string, words: readonly W[], usual: W): W =>
    words.find((one) => one === query.get(name)) ?? usual;
  const numbers = Object.fromEntries(
    Object.entries(RANGES).map(([name, { least, most }]) => {
      const usual = DEFAULT_SETTING[name as keyof typeof RANGES];
      return [name, within(query.get(name), least, most) ?? usual];
    }),
  ) as Pick<Setting, keyof typeof RANGES>;
  const drawn = query.get("drawn") ?? "";
  return {
    ...numbers,
    algorithm: word("algorithm", ALGORITHMS, DEFAULT_SETTING.algorithm),
    consistency: word("consistency", CONSISTENCIES, DEFAULT_SETTING.consistency),
    onStoreFailure: word("onStoreFailure", ON_FAILURE, DEFAULT_SETTING.onStoreFailure),
    shape: word("shape", Object.keys(SHAPES) as (keyof typeof SHAPES)[], DEFAULT_SETTING.shape),
    drawn: /^\d{10}$/.test(drawn) ? drawn : DEFAULT_SETTING.drawn,
    retries: query.get("retries") === "true",
    locations: locationsOf(query.get("locations")) ?? DEFAULT_SETTING.locations,
  };
}

const locationsText = (locations: readonly Location[]) =>
  locations.map(({ roundTripMs, clockMs }) => `${roundTripMs}_${clockMs}`).join(".");

function locationsOf(text: string | null): readonly Location[] | undefined {
  if (!text) return undefined;
  const { roundTripMs, clockMs } = LOCATION_RANGES;
  const all = text.split(".").map((one) => {
    const [trip = "", clock = ""] = one.split("_");
    const found = [within(trip, roundTripMs.least, roundTripMs.most), within(clock, clockMs.least, clockMs.most)];
    return found.includes(undefined) ? undefined : { roundTripMs: found[0]!, clockMs: found[1]! };
  });
  return all.length <= MOST_LOCATIONS && all.every((one) => one !== undefined) ? all : undefined;
}

/** A whole number of this range. undefined: it is none. */
export function within(text: string | null, least: number, most: number): number | undefined {
  const number = text ? Number(text) : Number.NaN;
  return Number.isInteger(number) && number >= least && number <= most ? number : undefined;
}
