// Every candidate of a suggestion is what a run with that limit alone decides.

import fc from "fast-check";
import { expect, it } from "vitest";
import { Clients } from "../../../../src/cli/replay/engine/clients.ts";
import { ConfigurationRun } from "../../../../src/cli/replay/engine/configuration-run.ts";
import { replay } from "../../../../src/cli/replay/engine/replay.ts";
import { Suggesting } from "../../../../src/cli/replay/engine/suggest.ts";
import type { LogEntry } from "../../../../src/cli/replay/log/format.ts";
import { renderReport } from "../../../../src/cli/replay/report/page.tsx";
import { textReport } from "../../../../src/cli/replay/report/text.ts";
import { withNumbers } from "../../../../src/limiter/numbers.ts";
import { firstOf } from "../../../support/cases/draws.ts";
import { configuration, logOf, recordedAt, requestAt, runOptions, START_MS } from "./logs.ts";

const CLIENTS = 12;

/** Bursts and pauses of clients that send very differently much. */
const entries = fc
  .array(
    fc.record({
      passedMs: fc.oneof({ weight: 9, arbitrary: fc.integer({ min: 0, max: 40 }) }, fc.integer({ min: 0, max: 4_000 })),
      client: fc.tuple(fc.nat(CLIENTS), fc.nat(CLIENTS)).map(([one, other]) => Math.min(one, other)),
      method: fc.constantFrom("GET", "GET", "GET", "POST", "PUT"),
      plan: fc.constantFrom("", "", "", "pro"),
      continent: fc.constantFrom("EU", "EU", "NA"),
      status: fc.constantFrom(200, 200, 401),
      durationMs: fc.oneof(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 0, max: 5_000 })),
    }),
    { minLength: 250, maxLength: 250 },
  )
  .map((all) => {
    let afterMs = 0;
    return all.map(({ passedMs, client, plan, continent, ...more }): LogEntry => {
      afterMs += passedMs;
      const headers = { "X-Plan": plan };
      return requestAt(afterMs, { ip: `192.0.2.${client}`, headers, cf: { continent }, ...more });
    });
  });

const LIMITS = [
  { limit: 20, window: "1s" },
  { limit: 9, window: "3s", buckets: 3, oldest: "whole", scope: "region" },
  { algorithm: "fixed-window", limit: 12, window: "2s" },
  { algorithm: "sliding-log", limit: 150, window: "2s" },
  { algorithm: "token-bucket", limit: 10, window: "1s" },
  { algorithm: "token-bucket", limit: 10, window: "3s", burst: 30 },
  { algorithm: "leaky-bucket", limit: 10, window: "2s", maxDelay: "500ms" },
  { algorithm: "concurrency", limit: 3, timeout: "1s" },
];
const POLICY = {
  name: "api",
  cost: [
    { method: "POST", cost: 3 },
    { method: "PUT", cost: 0 },
  ],
  plan: "header:x-plan",
  plans: { pro: { "api-1": 40, "api-8": 2 } },
  limits: LIMITS,
};
const canGiveBack = ({ algorithm = "sliding-window" }: { readonly algorithm?: string }) =>
  ["sliding-window", "fixed-window", "token-bucket"].includes(algorithm);

/** All of them admit together what none refuses: each suggestion must still be of its limit alone. */
const present = configuration([POLICY, { name: "other", limits: [{ limit: 3, window: "1m" }] }]);

const failures = configuration([
  { ...POLICY, count: "failures", plan: undefined, plans: undefined, limits: LIMITS.filter(canGiveBack) },
]);

it.each([
  ["all requests", present],
  ["failures", failures],
])("agrees at every candidate with a run of that limit alone, on ten logs: %s", async (_, present) => {
  const logs = firstOf(fc.sample(entries, { numRuns: 10, seed: 20_261_122 }));
  for (const [l, log] of logs.entries()) {
    const { suggestions } = await replay({ log: logOf(log), configurations: [present], suggest: 0.01 });
    const [policy] = present.settings.policies;
    const own = suggestions!.filter((one) => one.policy === "api");
    const { limit: id, rungs, suggested } = own[l % own.length]!;
    const limit = policy!.limits.find((one) => one.id === id)!;
    for (const candidate of rungs) {
      const alone = withNumbers({ ...policy!, limits: [limit] }, { [id]: candidate.limit });
      const settings = { ...present.settings, policies: [alone] };
      const { configurations } = await replay({ log: logOf(log), configurations: [{ name: "", settings }] });
      const { requests, refused, refusedClients } = configurations[0]!.policies[0]!;
      expect(candidate, `${id} as ${candidate.limit}`).toEqual({
        limit: candidate.limit,
        requests,
        refused,
        refusedClients,
      });
    }
    expect(suggested).toBe(rungs.find(({ requests, refused }) => refused / requests < 0.01)?.limit);
  }
});

it("says that no request matched a policy, the same in all reports", async () => {
  const unmatched = { name: "unmatched", match: { path: "/none" }, limits: [{ limit: 3, window: "1m" }] };
  const configurations = [configuration([{ name: "api", limits: LIMITS.slice(0, 1) }, unmatched])];
  const summary = await replay({ log: logOf([requestAt(0)]), configurations, suggest: 0.01 });
  expect(summary.suggestions!.map(({ policy, rungs }) => [policy, rungs.length > 0])).toEqual([
    ["api", true],
    ["unmatched", false],
  ]);
  const text = "unmatched, limit unmatched: no requests (now 3)";
  expect(textReport(summary)).toContain(`\n${text}\n`);
  expect(renderReport(summary)).toContain(`<p>${text}</p>`);
  // Of recorded lines, the same policy is among those that are not replayed.
  const recorded = await replay({
    log: logOf([recordedAt(0, [{ policy: "api" }])], { isRecorded: true }),
    configurations,
    suggest: 0.01,
  });
  expect(recorded.suggestions!.map(({ policy }) => policy)).toEqual(["api"]);
});

it("keeps the number of a client for which a candidate counts", () => {
  const clients = new Clients(0);
  const run = new ConfigurationRun(present, runOptions(clients));
  const suggesting = new Suggesting(run, 0.01, clients);
  run.decide(requestAt(0, { ip: "192.0.2.1" }), 0, START_MS, 0);
  suggesting.decide(requestAt(0), 0, START_MS);
  for (let i = 1; i < 10_000; i++) clients.numberOf("ip", `${i}`);
  clients.sweep((client) => suggesting.hasCounts(client));
  expect(["192.0.2.1", "1"].map((client) => clients.numberOf("ip", client))).toEqual([0, 10_000]);
});

it("has about 40 round numbers around the present one", async () => {
  const { suggestions } = await replay({ log: logOf([requestAt(0)]), configurations: [present], suggest: 0.01 });
  expect(suggestions!.map(({ limit, present }) => [limit, present])).toEqual([
    ...LIMITS.map(({ limit }, l) => [`api-${l + 1}`, limit]),
    ["other", 3],
  ]);
  const numbers = suggestions![3]!.rungs.map(({ limit }) => limit);
  expect(numbers).toEqual(
    [2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 120, 150, 200, 250, 300, 400, 500, 600, 800].concat(
      [1_000, 1_200, 1_500, 2_000, 2_500, 3_000, 4_000, 5_000, 6_000, 8_000, 10_000],
    ),
  );
});
