// A summary as a replay of two configurations gives it, made by hand.

import type {
  ConfigurationSummary,
  PolicySummary,
  Suggestion,
  Summary,
  Timeline,
} from "../../../src/cli/replay/engine/summary.ts";

export const FROM_MS = Date.UTC(2026, 10, 21);
const STEP_MS = 15 * 60_000;
const STEPS = 96;

/** A day with a peak at noon, of which this share is refused. */
function timeline(share: number): Timeline {
  const all = Array.from({ length: STEPS }, (_, i) => Math.round(2_000 - 1_500 * Math.cos((i / STEPS) * 2 * Math.PI)));
  const refused = all.map((n) => Math.round(n * share * Math.max(0, (n - 2_000) / 1_000)));
  return { fromMs: FROM_MS, stepMs: STEP_MS, admitted: all.map((n, i) => n - refused[i]!), refused };
}

const sum = (numbers: readonly number[]) => numbers.reduce((all, one) => all + one, 0);

function policy(name: string, limit: number, share: number, more: Partial<PolicySummary> = {}): PolicySummary {
  const time = timeline(share);
  const refused = sum(time.refused);
  const requests = sum(time.admitted) + refused;
  return {
    policy: name,
    mode: "enforce",
    requests,
    refused,
    units: requests,
    refusedUnits: refused,
    clients: 1_234,
    refusedClients: refused === 0 ? 0 : 12,
    nearMisses: 31,
    limits: [
      {
        id: `${name}-1`,
        words: `${limit} per 1 minute, sliding-window`,
        refused,
        peaks: [700, 210, 120, 60, 41, 30, 20, 10, 11, 20, refused === 0 ? 0 : 12],
      },
    ],
    topRefused: refused === 0 ? [] : [{ client: "NTQkC_THbTYbSrPHfiyuUw", kind: "ip", requests: 900, refused: 870 }],
    timeline: time,
    ...more,
  };
}

function configuration(name: string, policies: readonly PolicySummary[]): ConfigurationSummary {
  const [first] = policies;
  const { requests, refused, timeline: time } = first!;
  return { name, requests: { requests, refused }, policies, skipped: [], timeline: time };
}

const RUNGS = Array.from({ length: 40 }, (_, i) => Math.round(6 * 10 ** (i / 13)));

const SUGGESTION: Suggestion = {
  policy: "api",
  limit: "api-1",
  present: 60,
  share: 0.001,
  suggested: RUNGS.find((limit) => 3_000_000 / limit ** 3 / 1_000 < 0.001)!,
  rungs: RUNGS.map((limit) => {
    const requests = 192_000;
    const refused = limit > 900 ? 0 : Math.round(requests * Math.min(0.95, 3_000 / limit ** 3));
    return { limit, requests, refused, refusedClients: Math.ceil(refused / 100) };
  }),
};

export const PRESENT = configuration("wrangler.toml", [
  policy("api", 60, 0.2),
  policy("login", 5, 0, { mode: "shadow", clients: 3 }),
]);

export const ONE: Summary = {
  log: { files: 2, bytes: 43_201_024, lines: 192_007, requests: 192_000, fromMs: FROM_MS, toMs: FROM_MS + 86_399_000 },
  configurations: [PRESENT],
  notes: ["the log shows whole seconds: requests of one second keep their order in the file"],
};

export const TWO: Summary = {
  ...ONE,
  configurations: [
    PRESENT,
    {
      ...configuration("candidate.toml", [policy("api", 40, 0.4), policy("search", 20, 0.1)]),
      skipped: [{ policy: "slow", reason: "the log does not tell how long requests took", mode: "shadow" }],
    },
  ],
  comparison: {
    requests: {
      newlyRefused: {
        requests: 8_123,
        clients: 25,
        examples: [
          {
            atMs: FROM_MS + 43_200_000,
            client: "NTQkC_THbTYbSrPHfiyuUw",
            kind: "ip",
            policy: "api",
            request: "GET /v1/items",
            requests: 812,
          },
        ],
      },
      newlyAdmitted: { requests: 0, clients: 0, examples: [] },
    },
    policies: [
      {
        policy: "api",
        newlyRefused: { requests: 8_123, clients: 25, examples: [] },
        newlyAdmitted: { requests: 0, clients: 0, examples: [] },
      },
    ],
    added: ["search"],
    removed: ["login"],
    unknown: [],
  },
  suggestions: [SUGGESTION],
};
