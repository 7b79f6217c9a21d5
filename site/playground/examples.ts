/** Settings whose outcome is known: the first things that a visitor may try. A test compares each with its words. */

import { DEFAULT_SETTING, type Setting } from "./setting.ts";

interface Example {
  readonly name: string;
  /** What the run shows, with its figures. */
  readonly says: string;
  readonly setting: Setting;
}

const trips = (...all: readonly number[]) => all.map((roundTripMs) => ({ roundTripMs, clockMs: 0 }));
const BUCKET: Setting = { ...DEFAULT_SETTING, algorithm: "token-bucket", burst: 10, retries: true };

export const EXAMPLES: readonly Example[] = [
  {
    name: "Burst at a boundary",
    says:
      "A client sends 50 requests just before a window ends, and then keeps sending. The default algorithm admits 99 in " +
      "the worst 10 s. No traffic makes it admit more.",
    setting: DEFAULT_SETTING,
  },
  {
    name: "Exact log",
    says: "The same traffic under sliding-log, which never admits more than the limit: 50 in any 10 s.",
    setting: { ...DEFAULT_SETTING, algorithm: "sliding-log" },
  },
  {
    name: "Clock 1.4 s ahead",
    says: "The clock of the second location is 1.4 s ahead. The store's clock decides, so the worst case is still 50.",
    setting: {
      ...DEFAULT_SETTING,
      algorithm: "sliding-log",
      shape: "random",
      locations: [
        { roundTripMs: 20, clockMs: 0 },
        { roundTripMs: 80, clockMs: 1_400 },
      ],
    },
  },
  {
    name: "Store down",
    says:
      "The store is down from 12 s to 27 s. Each of the three locations counts for itself then: 147 in the worst " +
      "10 s, about three times the limit.",
    setting: {
      ...DEFAULT_SETTING,
      ...{ shape: "random", demand: 150, windows: 4, outageFromS: 12, outageToS: 27, locations: trips(20, 40, 80) },
    },
  },
  {
    name: "Never waiting",
    says:
      "Five locations share one limit of 500, and no request waits for the store. The worst 10 s have 510, and 5,000 " +
      "requests need 220 store calls.",
    setting: {
      ...DEFAULT_SETTING,
      ...{ consistency: "shared", shape: "steady", limit: 500, demand: 1_000, windows: 5 },
      locations: trips(20, 40, 80, 160, 240),
    },
  },
  {
    name: "Waiting as told",
    says:
      "Three times, 15 requests come at once. The refused ones come again after Retry-After, and nobody else asks " +
      "meanwhile: 15 of 15 get through.",
    setting: { ...BUCKET, shape: "bursts", demand: 15 },
  },
  {
    name: "Others come first",
    says:
      "The same wait while other requests with the same key keep coming. Some take the place of those that wait: only " +
      "25 of 44 get through. An exact Retry-After is no reservation.",
    setting: { ...BUCKET, shape: "random", demand: 60 },
  },
];
