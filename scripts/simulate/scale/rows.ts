/** The rows of bench/results/objects.md. */

import type { Scenario } from "./run.ts";

export interface Group {
  /** The name of its table in bench/results/objects.md. */
  readonly name: string;
  readonly rows: readonly Scenario[];
}

const USUAL: Scenario = {
  mode: "leased",
  isolates: 100,
  rate: 1_000,
  demand: 0.5,
  clients: 1,
  shards: 1,
  serviceMs: 1,
  algorithm: "sliding-window",
  windowMs: 10_000,
  timeoutMs: 250,
  halfMs: 10_000,
  seed: 1,
};

const row = (change: Partial<Scenario>): Scenario => ({ ...USUAL, ...change });

const strict = [300, 500, 700, 1_000, 3_000];
const leased = [
  [10, 1_000],
  [10, 3_000],
  [30, 3_000],
  [30, 10_000],
  [100, 1_000],
  [100, 3_000],
  [100, 10_000],
  [300, 3_000],
  [300, 10_000],
] as const;
const patient = [
  [100, 3_000, 10_000],
  [100, 10_000, 10_000],
  [300, 10_000, 10_000],
  [300, 3_000, 60_000],
  [300, 10_000, 60_000],
] as const;
const bucket = [
  [30, 10_000],
  [100, 3_000],
  [100, 10_000],
  [300, 3_000],
  [300, 10_000],
  [300, 30_000],
] as const;
const spread = [
  [500, 1],
  [1_000, 1],
  [1_000, 4],
  [3_000, 4],
  [3_000, 16],
  [10_000, 16],
  [30_000, 64],
] as const;

/** How load spreads over objects changes little with time: a short run shows it. */
const SHORT_MS = 2_000;

export const GROUPS: readonly Group[] = [
  {
    name: "strict",
    rows: [
      ...strict.map((rate) => row({ mode: "strict", rate })),
      ...[500, 1_000, 3_000].map((rate) => row({ mode: "strict", rate, demand: 2 })),
    ],
  },
  {
    name: "leased",
    rows: [
      ...leased.map(([isolates, rate]) => row({ isolates, rate })),
      ...([10, 100] as const).map((isolates) => row({ isolates, rate: 3_000, demand: 2 })),
    ],
  },
  {
    name: "patient",
    rows: [
      ...patient.map(([isolates, rate, windowMs]) => row({ isolates, rate, windowMs, timeoutMs: 500 })),
      row({ rate: 3_000, demand: 2, timeoutMs: 500 }),
    ],
  },
  {
    name: "bucket",
    rows: [
      row({ algorithm: "token-bucket", isolates: 100, rate: 3_000 }),
      ...bucket.map(([isolates, rate]) => row({ algorithm: "token-bucket", isolates, rate, windowMs: 60_000 })),
    ],
  },
  {
    name: "slower",
    rows: [2, 5].flatMap((serviceMs) => [
      row({ mode: "strict", rate: serviceMs === 2 ? 300 : 100, serviceMs }),
      ...([10, 30, 100] as const).map((isolates) => row({ isolates, rate: 3_000, serviceMs, timeoutMs: 500 })),
      row({ isolates: 100, rate: 3_000, serviceMs, timeoutMs: 500, windowMs: 60_000 }),
      row({ algorithm: "token-bucket", isolates: 100, rate: 3_000, serviceMs, windowMs: 60_000 }),
    ]),
  },
  {
    name: "clients",
    rows: [
      ...spread.map(([rate, shards]) => row({ mode: "strict", clients: 1_000, rate, shards, halfMs: SHORT_MS })),
      row({ mode: "strict", clients: 1_000, rate: 3_000, shards: 4, demand: 2 }),
      row({ clients: 1_000, rate: 3_000, shards: 4 }),
      row({ clients: 30, rate: 3_000, shards: 1 }),
      row({ clients: 30, rate: 3_000, shards: 4 }),
    ],
  },
  {
    name: "many",
    rows: (
      [
        ["leased", 0.5],
        ["leased", 2],
        ["shared", 0.5],
        ["shared", 2],
      ] as const
    ).map(([mode, demand]) => row({ mode, demand, isolates: 1_000, rate: 100_000 })),
  },
];
