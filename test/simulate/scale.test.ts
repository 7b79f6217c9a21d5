// bench/results/objects.md, and what docs/performance.md says of it: tables, figures, and whether the code still does
// what they say.

import { expect, it, vi } from "vitest";
import {
  FREE_DAY,
  freeCallsPerDay,
  OBJECTS,
  objectsBill,
  perMillion,
  UNITS,
  UPSTASH,
  upstashFixed,
  upstashPayAsYouGo,
} from "../../scripts/simulate/scale/bill.ts";
import { simulatedObject } from "../../scripts/simulate/scale/object.ts";
import { kept, withTables } from "../../scripts/simulate/scale/page.ts";
import { GROUPS } from "../../scripts/simulate/scale/rows.ts";
import { type Measured, type Scenario, simulate } from "../../scripts/simulate/scale/run.ts";
import { Kind } from "../../src/kernel/core/algorithm.ts";
import { Flag } from "../../src/kernel/core/take.ts";
import { measured, read, tableIn } from "../docs/markdown.ts";
import { firstOf } from "../support/cases/draws.ts";
import { virtualTime } from "../support/virtual-time.ts";

// Seconds of computing, and more on a busy machine. Its time is virtual, not measured.
vi.setConfig({ testTimeout: 180_000 });

const PAGE = read("bench/results/objects.md");
const ROWS = GROUPS.flatMap(({ rows }) => rows);
/** The results, and what docs/performance.md concludes from them. */
const SAID = `${PAGE} ${read("docs/performance.md")}`.replaceAll(/\s+/g, " ");
const said = (text: string) => expect(SAID.includes(text), text).toBe(true);

it("has the tables that the kept results and the prices give (npm run docs:scale -- --tables)", () => {
  expect(withTables(PAGE)).toBe(PAGE);
});

/** How much a result may differ from the kept one after a change of the code: this much, plus this part of it. */
const TOLERANCE: Readonly<Record<keyof Measured, readonly [least: number, part: number]>> = {
  requests: [0, 0],
  calls: [20, 0.05],
  busy: [0.01, 0.05],
  p50: [5, 0.05],
  p99: [5, 0.05],
  used: [0.005, 0],
  most: [0.005, 0],
  fallback: [0.005, 0.05],
};

/** Every other row of those that take least time. */
const QUICK = ROWS.filter(({ rate, clients, serviceMs }) => rate <= 1_000 && clients === 1 && serviceMs === 1).filter(
  (_, i) => i % 2 === 0,
);

it.each(firstOf(QUICK))(
  "runs again as it was kept: $mode, $isolates isolates, $rate requests per second",
  async (scenario) => {
    const { now } = Date;
    const [before, after] = [kept(scenario), await simulate(scenario)];
    for (const name of Object.keys(TOLERANCE) as (keyof Measured)[]) {
      const [least, part] = TOLERANCE[name];
      const difference = Math.abs(after[name] - before[name]);
      expect(difference, `${name}: ${before[name]}, now ${after[name]}`).toBeLessThanOrEqual(
        least + part * before[name],
      );
    }
    expect(Date.now).toBe(now);
  },
);

it("an object serves one call at a time, also without a caller, and refuses what would wait too long", async () => {
  const time = virtualTime(0);
  const object = simulatedObject(time, 4_000);
  const limits = [{ kind: Kind.fixedWindow, limit: 9, windowMs: 1_000 }] as const;
  const request = { keys: [{ key: "k", group: 0, cost: 1, limits }], flag: Flag.take };
  const ended: (number | string)[] = [];
  for (let i = 0; i < 5; i++) {
    object.take(request).then(
      () => ended.push(time.nowMs()),
      ({ code }) => ended.push(code),
    );
  }
  await time.runUntil(5_000);
  expect(object.busyMs).toBe(5_000);
  await time.runUntil(60_000);
  expect(ended).toEqual(["OVERLOADED", "OVERLOADED", 4_000, 8_000, 12_000]);
  expect([object.calls, object.busyMs]).toEqual([5, 12_000]);
});

/** The rows of one table. */
const rowsOf = (table: string, also: (row: Scenario) => boolean = () => true) =>
  GROUPS.find(({ name }) => name === table)!.rows.filter(also);
const isCalm = (row: Scenario) => kept(row).fallback < 0.01;

it("calls grow with the isolates, as far as the page says", () => {
  const callsOf = (isolates: number, rate: number) =>
    kept(rowsOf("bucket", (row) => row.isolates === isolates && row.rate === rate && row.windowMs === 60_000)[0]!)
      .calls;
  for (const rate of [3_000, 10_000]) expect(callsOf(300, rate) / callsOf(100, rate)).toBeCloseTo(3, 0);
  const ofThousand = Math.round((1_000 / 300) * (callsOf(300, 10_000) / 10));
  said(`1,000 processes make about ${100 * Math.round(ofThousand / 100)} calls per second`);
});

it("what the page says in short is what the rows show", () => {
  const most = (rows: readonly Scenario[]) => Math.max(...rows.filter(isCalm).map(({ rate }) => rate));
  const served = (what: string, rows: readonly Scenario[]) => said(`| ${what} | ${most(rows).toLocaleString("en")} |`);
  const strict = rowsOf("strict", ({ demand }) => demand < 1);
  expect(rowsOf("strict", ({ rate }) => rate >= 1_000).some(isCalm)).toBe(false);
  const bucket = rowsOf("bucket", ({ isolates }) => isolates === 300);
  const leased = rowsOf("leased", ({ isolates, demand }) => isolates === 100 && demand < 1);
  const clients = rowsOf("clients", ({ mode, shards }) => mode === "strict" && shards === 64);
  served("`strict`, one object", strict);
  served("`strict`, one limit per client, 64 objects (`COUNTS_SHARDS`)", clients);
  served("`leased`, `sliding-window` of 10 s, 100 processes, one object", leased);
  served("`leased`, `token-bucket` of 60 s, 300 processes, one object", bucket);
  const ofHalf = ROWS.filter(({ mode, demand }) => mode === "leased" && demand < 1);
  const least = (rows: readonly Scenario[]) => Math.floor(100 * Math.min(...rows.map((row) => kept(row).used)));
  said(`While traffic used half of the limit, \`leased\` still admitted at least ${least(ofHalf)} % of the requests`);
  for (const alone of rowsOf("leased", ({ isolates }) => isolates === 300)) {
    said(`${Math.round(100 * kept(alone).fallback)} % of the requests were decided without the store`);
  }
  for (const busy of rowsOf("many", ({ mode }) => mode === "shared").slice(0, 1)) {
    said(`\`shared\` keeps an object ${Math.round(100 * kept(busy).busy)} % busy`);
  }
});

it("names the prices and units that the tables multiply", () => {
  said(`1 M requests included, then $${(OBJECTS.perRequest * 1e6).toFixed(2)} per million`);
  said(`50 M written rows included, then $${(OBJECTS.perRowWritten * 1e6).toFixed(2)} per million`);
  said(
    `${OBJECTS.includedGbSeconds.toLocaleString("en")} GB-s included, then $${(OBJECTS.perGbSecond * 1e6).toFixed(2)}`,
  );
  said(`${FREE_DAY.requests.toLocaleString("en")} requests, ${FREE_DAY.rowsWritten.toLocaleString("en")} written rows`);
  said(`${FREE_DAY.rowsRead / 1e6} M read rows, ${FREE_DAY.gbSeconds.toLocaleString("en")} GB-s`);
  said(`at most ${UPSTASH.commandsPerSecond.toLocaleString("en")} per second`);
  said(`$${(UPSTASH.perCommand * 1e5).toFixed(2)} per 100,000 commands`);
  for (const { dollars, gb } of UPSTASH.fixed) said(`$${dollars} with ${gb < 1_000 ? `${gb} GB` : `${gb / 1_000} TB`}`);
  said(`${UPSTASH.freeCommands.toLocaleString("en")} commands a month`);
  for (const state of ["admitted", "refused"] as const) {
    expect(Number(measured(`1 limit, ${state}`, "headgate sliding-window", "commands"))).toBe(UNITS.commands[state]);
  }
});

it("docs/stores.md has the price of a million requests for each setting", () => {
  const one = { admitted: 1, refused: 0, keys: 1 };
  const asked = {
    "`strict`, admitted": one,
    "`strict`, admitted by two policies": { ...one, keys: 2 },
    "`strict`, refused by the store": { ...one, admitted: 0, refused: 1 },
    "`leased`, with 0.1 calls per request": { ...one, admitted: 0.1 },
    "`meter`: reserved, and settled after the answer": undefined,
    "refused without asking the store, or from a blocked or exempt client": { ...one, admitted: 0 },
  };
  const settled = perMillion(one);
  /** Rounded up, whatever the last bits of a sum are. */
  const cents = (dollars: number) => (Math.ceil(Number((dollars * 100).toFixed(6))) / 100).toFixed(2);
  const prices = Object.entries(asked).map(([setting, use]) => {
    // What is settled was reserved: its key is known.
    const price = use
      ? perMillion(use)
      : { known: 2 * settled.known, new: settled.new + settled.known, upstash: 2 * settled.upstash };
    return [setting, ...[price.known, price.new, price.upstash].map((dollars) => `$${cents(dollars)}`)];
  });
  expect(tableIn(read("docs/stores.md"), "A million requests").map((row) => Object.values(row))).toEqual(prices);
  // The first rows of the comparison.
  const cell = `${settled.known.toFixed(2)} to ${settled.new.toFixed(2)}`;
  const named = read("docs/comparison.md").replace("| | What it lacks", "| Name | What it lacks");
  const [first, second] = tableIn(named, "Name").map((row) => Object.values(row));
  expect([first![0], ...first!.slice(-2)]).toEqual(["headgate, strict, Durable Object", cell, cell]);
  expect([second![0], ...second!.slice(-2)]).toEqual(["headgate, strict, Redis", "8.00", "8.00"]);
});

it("says what follows from the prices", () => {
  const month = OBJECTS.gbOfObject * 2_592_000;
  expect(month).toBeLessThan(OBJECTS.includedGbSeconds);
  expect(month / 30).toBeLessThan(FREE_DAY.gbSeconds);
  said(`= ${month.toLocaleString("en")} GB-s a month`);
  said(`and ${Math.floor(month / 30).toLocaleString("en")} a day`);
  said(`at most $${((2 * month - OBJECTS.includedGbSeconds) * OBJECTS.perGbSecond).toFixed(2)} a month`);
  said(`each further one $${(month * OBJECTS.perGbSecond).toFixed(2)}`);
  // The number of calls from which on the cheapest fixed plan is cheaper.
  const even = (rowsPerCall: number) => {
    for (let millions = 1; ; millions++) {
      const calls = millions * 1e6;
      if (objectsBill({ calls, rowsPerCall, objects: 1 }) > upstashFixed(calls)!) return millions;
    }
  };
  said(`from ${even(1)} million calls a month on, or ${even(3)} million if every key is new`);
  said(
    `for ${Math.floor(UPSTASH.freeCommands / 30 / UNITS.commands.admitted).toLocaleString("en")} \`strict\` requests`,
  );
  expect([freeCallsPerDay(1), upstashPayAsYouGo(125_000), upstashPayAsYouGo(1e6)]).toEqual([98_560, 0, 8]);
});
