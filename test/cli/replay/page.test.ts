// The report as a page: what its HTML says. browser.test.ts looks at the page in a real browser.

import { expect, it } from "vitest";
import type { Summary } from "../../../src/cli/replay/engine/summary.ts";
import { renderReport } from "../../../src/cli/replay/report/page.tsx";
import { ONE, PRESENT, TWO } from "./summary.ts";

const EMPTY: Summary = {
  log: { files: 1, bytes: 0, lines: 0, requests: 0, fromMs: 0, toMs: 0 },
  configurations: [
    {
      ...PRESENT,
      requests: { requests: 0, refused: 0 },
      policies: PRESENT.policies.map((policy) => ({
        ...policy,
        requests: 0,
        timeline: { fromMs: 0, stepMs: 1_000, admitted: [], refused: [] },
      })),
      timeline: { fromMs: 0, stepMs: 1_000, admitted: [], refused: [] },
    },
  ],
  suggestions: [{ policy: "api", limit: "api-1", present: 60, share: 0.001, rungs: [] }],
  notes: [],
};

it("draws nothing that is no number, also of an empty log", () => {
  for (const summary of [ONE, TWO, EMPTY]) expect(renderReport(summary).match(/NaN|Infinity|undefined/)).toBeNull();
});

it("escapes what comes from logs and files", () => {
  const bad = `"><script>alert(1)</script><img src=x onerror='alert(2)'>&`;
  const policies = PRESENT.policies.map((policy) => ({
    ...policy,
    policy: bad,
    limits: policy.limits.map((limit) => ({ ...limit, id: bad, words: bad })),
    topRefused: [{ client: bad, kind: bad, requests: 1, refused: 1 }],
  }));
  const payer = {
    policy: bad,
    requests: 1,
    units: 1,
    clients: 1,
    top: [{ client: bad, kind: bad, requests: 1, units: 1 }],
  };
  const chains = [{ policy: bad, requests: 1, payers: [payer, payer], refused: payer, spared: payer }];
  const payers = [{ policy: bad, before: bad, after: bad, requests: 1, units: 1 }];
  const example = { atMs: 0, client: bad, kind: bad, policy: bad, request: bad, requests: 1 };
  const changed = { requests: 1, clients: 1, examples: [example] };
  const both = { newlyRefused: changed, newlyAdmitted: changed };
  const configuration = { ...PRESENT, name: bad, policies, chains, skipped: [{ policy: bad, reason: bad }] };
  const page = renderReport({
    ...TWO,
    configurations: [configuration, configuration],
    comparison: {
      requests: both,
      policies: [{ policy: bad, ...both }],
      payers,
      added: [bad],
      removed: [bad],
      unknown: [],
    },
    suggestions: TWO.suggestions!.map((one) => ({ ...one, policy: bad, limit: bad })),
    notes: [bad],
  });
  expect(page.split("&lt;script&gt;").length).toBeGreaterThan(60);
  expect(page.match(/<script|<img|onerror='/)).toBeNull();
});
