// docs/metrics.md: its tables are those of the code, and its figures follow from the code's bounds and from
// Cloudflare's prices. test/gateway/prometheus.long.test.ts runs what the page has for Prometheus.

import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it, vi } from "vitest";
import { FREE_DAY, OBJECTS } from "../../scripts/simulate/scale/bill.ts";
import { parseDurationMs } from "../../src/kernel/core/duration.ts";
import { seriesOf } from "../../src/operate/stats/batch.ts";
import { batchesOf, createHandOn } from "../../src/operate/stats/hand-on.ts";
import { METRICS } from "../../src/operate/stats/metrics.ts";
import {
  addClients,
  addTo,
  addWhere,
  DAY,
  listsOf,
  MAX_CLIENTS,
  MAX_MINUTES,
  MAX_SERIES,
  MAX_WHERE,
  noCounts,
  textOf,
  totalsText,
  whereOf,
} from "../../src/operate/stats/object/counts.ts";
import { replyOf } from "../../src/operate/stats/object/reply.ts";
import { Minutes } from "../../src/operate/stats/tally.ts";
import { ROOT, read, tableIn } from "./markdown.ts";

const NAME = "docs/metrics.md";
const PAGE = read(NAME);
const said = (text: string) => expect(PAGE.replaceAll(/\s+/g, " "), text).toContain(text);
const count = (value: number) => value.toLocaleString("en");
/** The names in a cell: `a`, `b`. */
const named = (cell: string) => cell.match(/[A-Za-z][\w-]*/g) ?? [];

afterEach(() => void vi.useRealTimers());

it("has every metric, as /metrics names and explains it", () => {
  const info = {
    name: "headgate_build_info",
    labels: ["version"],
    help: "The gateway that answers.",
  };
  expect(read("src/operate/stats/object/door.ts")).toContain(`name: "${info.name}", help: "${info.help}"`);
  const rows = tableIn(PAGE, "Metric").map(({ Metric, Labels, Meaning }) => ({
    name: Metric,
    labels: named(Labels!),
    help: Meaning,
  }));
  expect(rows).toEqual([...METRICS.map(({ name, labels, help }) => ({ name, labels, help })), info]);
});

it("has every event that the gateway writes, and no other", () => {
  const sources = execFileSync("git", ["ls-files", "src"], { cwd: ROOT, encoding: "utf8" });
  const files = sources.split("\n").filter((path) => /^src\/(?!cli|client|testing).*\.ts$/.test(path));
  const source = files
    .filter((path) => existsSync(join(ROOT, path)))
    .map(read)
    .join("\n");
  const written = [...source.matchAll(/\bevent: ((?:"[a-z-]+"(?: \| )?)+)/g)].flatMap(([, texts]) => named(texts!));
  const ofDecisions = [...read("src/operate/log.ts").matchAll(/(?:return|[?>]) "([a-z-]+)"/g)].map(([, name]) => name!);
  expect(new Set(ofDecisions).size).toBe(5);
  const rows = tableIn(PAGE, "Event").flatMap(({ Event }) => named(Event!));
  expect(rows).toEqual(expect.arrayContaining([...written, ...ofDecisions]));
  for (const event of rows) expect(source).toContain(`"${event}"`);
});

it("has every member of the answer of /stats, and the labels of its points", () => {
  const timeline = { from: 60, step: 1, series: new Map<string, Float64Array>() };
  for (const { series, labels } of METRICS) timeline.series.set(seriesOf(series, labels), Float64Array.of(1));
  const told = { timeline, top: { api: [["k", 1, 0] as const] }, open: new Map([["a", 1]]), heardAtMs: 0 };
  const reply: Record<string, unknown> = { ...replyOf(told, 30_000) };
  const shown = new Map(
    tableIn(PAGE, "Member").flatMap(({ Member, Holds }) => {
      const members = Member!.replaceAll(/ \(.*?\)/g, "");
      return named(members).map((member): [string, string] => [member, `\`${Holds}\``]);
    }),
  );
  expect([...shown.keys()].sort()).toEqual(Object.keys(reply).sort());
  for (const [member, value] of Object.entries(reply)) {
    const [first] = Array.isArray(value) ? value : [];
    for (const field of Object.keys(first ?? {})) expect(shown.get(member), member).toContain(`\`${field}\``);
  }
});

/** The calls of `STATS` in a day by an isolate that has a request every `everyMs`, run for two hours. */
async function callsPerDay(flushMs: number, everyMs: number): Promise<number> {
  vi.useFakeTimers({ now: Date.UTC(2026, 10, 22) });
  let calls = 0;
  const counted = new Minutes();
  const send = async () => void calls++;
  const handOn = createHandOn({
    collected: batchesOf(counted, () => [], flushMs),
    unsent: { event: "stats-unsent" },
    refused: { event: "stats-refused" },
    ...{ flushMs, send },
  });
  for (let ms = 0; ms < 7_200_000; ms += everyMs) {
    counted.at(Date.now()).add(["fallback", "api"], 1);
    handOn({ waitUntil() {} });
    await vi.advanceTimersByTimeAsync(everyMs);
  }
  vi.useRealTimers();
  return calls * 12;
}

/** Written rows of a day that do not depend on isolates: removed minutes; each hour an alarm, a row, a removed row. */
const ROWS_BESIDE = DAY + 3 * 24;

it.each(tableIn(PAGE, "`STATS_FLUSH`"))("says what STATS_FLUSH $STATS_FLUSH costs", async (row) => {
  const [flush, calls, isolates, dollars] = Object.values(row);
  const flushMs = parseDurationMs(flush!)!;
  const most = 86_400_000 / flushMs;
  expect(calls).toBe(count(most));
  const free = Math.min(FREE_DAY.requests - 24, FREE_DAY.rowsWritten - ROWS_BESIDE);
  expect(isolates).toBe(String(Math.floor(free / most)));
  expect(dollars).toBe(`$${(30 * most * (OBJECTS.perRequest + OBJECTS.perRowWritten)).toFixed(2)}`);
  const made = await callsPerDay(flushMs, 500);
  expect(made).toBeLessThanOrEqual(most);
  expect(made).toBeGreaterThan(0.6 * most);
});

it("says what the object costs beside the batches", async () => {
  expect(FREE_DAY.rowsWritten).toBe(FREE_DAY.requests);
  said(`The object itself writes ${count(ROWS_BESIDE)} rows a day`);
  said(`all your objects share ${count(FREE_DAY.requests)} calls and rows a day`);
  // What the page calls far below: calls of 5 ms, and an object that wakes every 10 s and reads an hour.
  expect(2_880 * 0.005 * OBJECTS.gbOfObject).toBeLessThan(FREE_DAY.gbSeconds / 1_000);
  expect(8_640 * 61).toBeLessThan(FREE_DAY.rowsRead / 5);
  // Sparse requests: each is handed on after 20 s.
  const sparse = await callsPerDay(3_600_000, 20_100);
  expect(sparse).toBeGreaterThan(4_200);
  expect(sparse).toBeLessThanOrEqual(4_320);
  said("more than 20 seconds apart, each makes a call, whatever `STATS_FLUSH` is: at most 4,320 calls a day");
});

it("stores at most what an object may store", () => {
  const [series, policies, isolates] = [MAX_SERIES, 100, 5_000];
  /** The texts of a row in which every series counts this much. */
  const bytesOf = (sum: number, hasTotals: boolean) => {
    const counts = noCounts(29_920_607);
    const sums = new Map<string, number>();
    for (let i = 0; i < series; i++) {
      addTo(sums, seriesOf("decisions", [`policy-${i}`, "europe", "refused", "cache"]), sum);
    }
    counts.sums.set(counts.arrived, sums);
    for (let i = 0; i < policies; i++) {
      const client = (_: unknown, at: number) => [`NTQkC_THbTYbSrPHfiyu${at + 10}`, sum, 0] as const;
      addClients(counts.top, { [`policy-${i}`]: Array.from({ length: MAX_CLIENTS }, client) });
    }
    const places = Array.from({ length: MAX_WHERE }, (_, i) => [`/v1/items/:id/${i}\tDE`, sum, 0] as const);
    for (const [policy, list] of Object.entries(listsOf(counts.top))) {
      addWhere(counts.where, Object.fromEntries(list.map(([key]) => [whereOf(policy, key), places])), counts.top);
    }
    for (let i = 0; i < isolates; i++) {
      counts.isolates.set(`0f2a6e0c-8d0b-4a55-9b1e-${String(i).padStart(12, "0")}`, 100_000);
    }
    const total = hasTotals ? totalsText(sums, counts, undefined).length : 0;
    return Object.values(textOf(counts)).reduce((length, text) => length + text.length, total);
  };
  const stored = DAY * bytesOf(1_000, false) + (MAX_MINUTES / 60) * bytesOf(60_000, true);
  // Of the 5 GB that the plans include (2026-11).
  expect(stored).toBeLessThan(5e9 / 2);
});
