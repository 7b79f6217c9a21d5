/** Settings whose outcome is known: the first things that a visitor may try. */

import { DEFAULT_SETTING, type Setting } from "./setting.ts";

/** What to try, in words, with its setting. */
export const EXAMPLES: readonly (readonly [text: string, setting: Setting])[] = [
  ["A burst at a boundary", DEFAULT_SETTING],
  ["The same burst, an exact log", { ...DEFAULT_SETTING, algorithm: "sliding-log" }],
  [
    "A clock that is 1.4 s ahead",
    {
      ...DEFAULT_SETTING,
      algorithm: "sliding-log",
      shape: "random",
      locations: [
        { roundTripMs: 20, clockMs: 0 },
        { roundTripMs: 80, clockMs: 1_400 },
      ],
    },
  ],
  [
    "Redis is away for a while",
    { ...DEFAULT_SETTING, shape: "random", demand: 150, windows: 4, outageFromS: 12, outageToS: 27 },
  ],
  [
    "Five locations that never wait",
    {
      ...DEFAULT_SETTING,
      consistency: "shared",
      shape: "steady",
      limit: 500,
      demand: 1_000,
      windows: 5,
      locations: [20, 40, 80, 160, 240].map((roundTripMs) => ({ roundTripMs, clockMs: 0 })),
    },
  ],
  [
    "Clients that wait as told",
    { ...DEFAULT_SETTING, algorithm: "token-bucket", shape: "random", demand: 60, burst: 10, retries: true },
  ],
];
