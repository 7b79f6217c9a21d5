/** The tables of bench/results/objects.md, from the kept results and the prices. */

import { readFileSync } from "node:fs";
import { table, withTable } from "../../build/results.ts";
import { freeCallsPerDay, objectsBill, UNITS, UPSTASH, upstashFixed, upstashPayAsYouGo } from "./bill.ts";
import { GROUPS } from "./rows.ts";
import type { Measured, Scenario } from "./run.ts";

/** The results of the last full run. */
export const MEASURED_FILE = new URL("../../../bench/results/objects.json", import.meta.url);

/** @throws {Error} if the scenario has not been run. */
export function kept(scenario: Scenario): Measured {
  const all: readonly { readonly scenario: Scenario; readonly measured: Measured }[] = JSON.parse(
    readFileSync(MEASURED_FILE, "utf8"),
  );
  const wanted = JSON.stringify(scenario);
  const found = all.find((one) => JSON.stringify(one.scenario) === wanted);
  if (!found) throw new Error(`bench/results/objects.json: expected a result of ${wanted}: npm run docs:scale`);
  return found.measured;
}

const count = (value: number) => Math.round(value).toLocaleString("en");
/** In per cent. */
const percent = (part: number) => String(Number((100 * part).toFixed(part < 0.01 ? 1 : 0)));
const dollars = (value: number) => `$${value < 100 ? value.toFixed(2) : count(value)}`;

type Column = readonly [heading: string, cell: (scenario: Scenario) => string];

const MODE: Column = ["Mode", ({ mode }) => `\`${mode}\``];
const ISOLATES: Column = ["Processes", ({ isolates }) => count(isolates)];
const RATE: Column = ["Requests/s", ({ rate }) => count(rate)];
const DEMAND: Column = ["Demand", ({ demand }) => String(demand)];
const WINDOW: Column = ["Window, s", ({ windowMs }) => String(windowMs / 1_000)];
const ALGORITHM: Column = ["Algorithm", ({ algorithm }) => `\`${algorithm}\``];
const SERVICE: Column = ["A call takes, ms", ({ serviceMs }) => String(serviceMs)];
const CLIENTS: Column = ["Clients", ({ clients }) => count(clients)];
const SHARDS: Column = ["Objects", ({ shards }) => String(shards)];

const LEADING: Readonly<Record<string, readonly Column[]>> = {
  strict: [RATE, DEMAND],
  leased: [ISOLATES, RATE, DEMAND],
  patient: [ISOLATES, RATE, WINDOW, DEMAND],
  bucket: [ISOLATES, RATE, WINDOW],
  slower: [SERVICE, MODE, ALGORITHM, ISOLATES, RATE, WINDOW],
  clients: [MODE, CLIENTS, RATE, DEMAND, SHARDS],
  many: [MODE, ISOLATES, RATE, DEMAND],
};

const MEASURED: readonly Column[] = [
  ["Calls/s", (scenario) => count((1_000 * kept(scenario).calls) / scenario.halfMs)],
  ["Busy, %", (scenario) => percent(kept(scenario).busy)],
  ["Wait p50, ms", (scenario) => count(kept(scenario).p50)],
  ["Wait p99, ms", (scenario) => count(kept(scenario).p99)],
  ["Admitted", (scenario) => kept(scenario).used.toFixed(2)],
  ["Worst window", (scenario) => kept(scenario).most.toFixed(2)],
  ["Fallback, %", (scenario) => percent(kept(scenario).fallback)],
];

/** A month of requests, calls per request, and enough objects for peaks of about three times the mean. */
const BILLS = [
  [1e6, 1, 1],
  [1e6, 0.1, 1],
  [10e6, 1, 1],
  [10e6, 0.1, 1],
  [100e6, 1, 1],
  [100e6, 0.1, 1],
  [1_000e6, 1, 4],
  [1_000e6, 0.1, 1],
] as const;

function costTable(): string {
  const lines = BILLS.map(([requests, callsPerRequest, objects]) => {
    const calls = requests * callsPerRequest;
    const bill = (rowsPerCall: number) => dollars(objectsBill({ calls, rowsPerCall, objects }));
    const fixed = upstashFixed(calls);
    return [
      `${count(requests / 1e6)} M`,
      callsPerRequest === 1 ? "`strict`" : `\`leased\`, q = ${callsPerRequest}`,
      String(objects),
      bill(UNITS.rowsWritten.known),
      bill(UNITS.rowsWritten.first + UNITS.rowsWritten.removed),
      dollars(upstashPayAsYouGo(calls)),
      fixed === undefined ? "–" : dollars(fixed),
    ];
  });
  const headings = ["Requests", "Mode", "Objects", "Objects, known keys", "Objects, new keys"];
  return table([...headings, "Upstash, pay as you go", "Upstash, fixed"], lines);
}

function freeTable(): string {
  const perDay = (calls: number) => count(Math.floor(calls));
  const rows = UNITS.rowsWritten;
  return table(
    ["Free plan", "Calls a day"],
    [
      ["one object, keys that are known", perDay(freeCallsPerDay(rows.known))],
      ["one object, each call a new key", perDay(freeCallsPerDay(rows.first + rows.removed))],
      ["Upstash, the month's commands spread evenly", perDay(UPSTASH.freeCommands / 30 / UNITS.commands.admitted)],
    ],
  );
}

/** Every table, by the name that stands before it in the page. */
export function tables(): Readonly<Record<string, string>> {
  const measured = GROUPS.map(({ name, rows }) => {
    const columns = [...LEADING[name]!, ...MEASURED];
    const lines = rows.map((scenario) => columns.map(([, cell]) => cell(scenario)));
    return [
      name,
      table(
        columns.map(([heading]) => heading),
        lines,
      ),
    ] as const;
  });
  return { ...Object.fromEntries(measured), cost: costTable(), free: freeTable() };
}

/** The page with its tables as they should be. @throws {Error} if a table has no place in the page. */
export function withTables(page: string): string {
  return Object.entries(tables()).reduce(
    (text, [name, markdown]) => withTable(text, name, "docs:scale", markdown),
    page,
  );
}
