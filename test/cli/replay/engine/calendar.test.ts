// Calendar limits over logs of months: when counts begin anew, what is kept, and every rung of a suggestion.

import { expect, it } from "vitest";
import { ConfigurationRun } from "../../../../src/cli/replay/engine/configuration-run.ts";
import { replay } from "../../../../src/cli/replay/engine/replay.ts";
import { textReport } from "../../../../src/cli/replay/report/text.ts";
import { withNumbers } from "../../../../src/limiter/numbers.ts";
import { configuration, logOf, requestAt, runOptions, START_MS } from "./logs.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Four months and a half, in which clocks change in Los Angeles: 2026-09-20 to 2027-02-02, an hour after another. */
const [FROM_MS, TO_MS] = [Date.parse("2026-09-20T00:00:00Z"), Date.parse("2027-02-02T00:00:00Z")];
const MONTH = { algorithm: "calendar", limit: 250, window: "month", zone: "America/Los_Angeles", monthDay: 15 };

const at = (instant: number | string, ip = "192.0.2.1") =>
  requestAt((typeof instant === "string" ? Date.parse(instant) : instant) - START_MS, { ip });

/** One client has a request in each hour. Others have one in all. */
const hourly = Array.from({ length: (TO_MS - FROM_MS) / HOUR_MS }, (_, hour) => [
  at(FROM_MS + hour * HOUR_MS),
  at(FROM_MS + hour * HOUR_MS, `198.51.${hour >> 8}.${hour & 255}`),
]).flat();

it("admits the number in each period, and the periods are those of the zone", async () => {
  const days = { algorithm: "calendar", limit: 20, window: "day", zone: "America/Los_Angeles" };
  const policies = [
    { name: "month", limits: [MONTH] },
    { name: "day", limits: [days] },
    { name: "year", limits: [{ algorithm: "calendar", limit: 1_000, window: "year", zone: "Asia/Tokyo" }] },
  ];
  // Each alone: what one refuses, the others do not charge.
  const alone = async (policy: object) => {
    const { configurations } = await replay({ log: logOf(hourly), configurations: [configuration([policy])] });
    return configurations[0]!.policies[0]!;
  };
  const [month, day, year] = await Promise.all(policies.map(alone));

  // Periods from the 15th. The one from October on has the repeated hour.
  const starts = ["2026-10-15T07:00Z", "2026-11-15T08:00Z", "2026-12-15T08:00Z", "2027-01-15T08:00Z"].map(Date.parse);
  const hours = [FROM_MS, ...starts].map((start, i) => ((starts[i] ?? TO_MS) - start) / HOUR_MS);
  expect(hours).toEqual([607, 745, 720, 744, 424]);
  const refusedOf = (all: readonly number[], limit: number) => all.reduce((sum, n) => sum + Math.max(0, n - limit), 0);
  expect(month!.refused).toBe(refusedOf(hours, 250));

  // 7 and 17 hours of the first and last days, 25 of the day on which clocks change.
  const whole = Math.round((TO_MS - FROM_MS) / DAY_MS) - 1;
  expect(day!.refused).toBe(refusedOf([7, ...Array<number>(whole - 1).fill(24), 25, 16], 20));

  // In Tokyo the year has ended 9 hours before it has in UTC.
  const newYear = Date.parse("2026-12-31T15:00Z");
  expect(year!.refused).toBe(refusedOf([(newYear - FROM_MS) / HOUR_MS, (TO_MS - newYear) / HOUR_MS], 1_000));
  for (const one of [month, day, year]) expect(one!.refusedClients).toBe(1);
});

it("agrees at every rung with a run of that number alone, and the log ends within a period", async () => {
  const present = configuration([
    { name: "api", plan: "header:x-plan", plans: { pro: { api: 500 } }, limits: [MONTH] },
  ]);
  const { suggestions } = await replay({ log: logOf(hourly), configurations: [present], suggest: 0.01 });
  const [{ rungs, suggested }] = suggestions as [NonNullable<typeof suggestions>[number]];
  expect(rungs.length).toBeGreaterThan(30);
  const [policy] = present.settings.policies;
  for (const rung of rungs) {
    const settings = { ...present.settings, policies: [withNumbers(policy!, { api: rung.limit })] };
    const { configurations } = await replay({ log: logOf(hourly), configurations: [{ name: "", settings }] });
    const { requests, refused, refusedClients } = configurations[0]!.policies[0]!;
    expect(rung).toEqual({ limit: rung.limit, requests, refused, refusedClients });
  }
  // The longest period of the log has 745 hours.
  expect(suggested).toBe(800);
  expect(rungs.find(({ limit }) => limit === 800)!.refused).toBe(0);
  expect(rungs.find(({ limit }) => limit === 600)!.refused).toBe(7 + 145 + 120 + 144);
});

it("names the window in its report", async () => {
  const summary = await replay({
    log: logOf(hourly.slice(0, 10)),
    configurations: [configuration([{ name: "api", limits: [MONTH] }])],
  });
  expect(textReport(summary)).toContain("250 per month, calendar");
});

const ENDS_MS = Date.parse("2026-11-15T08:00:00Z");

it.each([
  [ENDS_MS - 1, true],
  [ENDS_MS, false],
])("at %i it is %s that the clients of the period until 1794729600000 are kept", (nowMs, isKept) => {
  const run = new ConfigurationRun(configuration([{ name: "api", limits: [MONTH] }]), runOptions());
  const first = Date.parse("2026-10-20T00:00:00Z");
  // Fewer clients than these are kept anyway.
  for (let i = 0; i < 10_000; i++) run.decide(at(first, `10.0.${i >> 8}.${i & 255}`), i, first, 0);
  run.sweep(nowMs);
  expect([0, 9_999].map((client) => run.hasCounts(client))).toEqual([isKept, isKept]);
});
