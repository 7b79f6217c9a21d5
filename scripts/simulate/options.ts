/** The command line of `npm run simulate`. */

import { parseArgs } from "node:util";
import { Kind } from "../../src/core/algorithm.ts";
import type { LimitSpec } from "../../src/core/algorithms.ts";
import type { Scenario } from "./run.ts";
import { DELAY_MS, ROWS, type Row, scenarioOf, WINDOW_MS } from "./targets.ts";

export const USAGE = `npm run simulate -- [options]

  --quick       two seeds, the rows that take little time: about half a minute
  --json        the results as JSON
  --out FOLDER  charts (SVG), one for each traffic
Instead of the table, one run of your own:
  --limit N     units per window; default 1000
  --window MS   default 10000
  --demand N    requests per window, relative to the limit; default 2
  --mode M      strict or leased; default both
  --isolates N  default 20
  --delay A-B   one way between an isolate and the store, in ms; default 5-100
  --arrivals A  steady or bursts (all begin at the same instant); default steady
  --buckets N   1 to 60, must divide the window; default 1
  --oldest O    weighted or whole; default weighted
  --seed N      default 1`;

const OWN = {
  limit: { type: "string" },
  window: { type: "string" },
  demand: { type: "string" },
  mode: { type: "string" },
  isolates: { type: "string" },
  delay: { type: "string" },
  arrivals: { type: "string" },
  buckets: { type: "string" },
  oldest: { type: "string" },
  seed: { type: "string" },
} as const;

/** The most requests in one run that the command line describes. More requests would take minutes. */
const MAX_REQUESTS = 2_000_000;
const OWN_WINDOWS = 6;

export interface Options {
  readonly json: boolean;
  readonly out: string | undefined;
  readonly rows: readonly Row[];
  readonly seeds: readonly number[];
  /** Runs that the command line describes, instead of the table. */
  readonly own: readonly Scenario[] | undefined;
}

/** A wrong command line. The text says what was expected. */
export class UsageError extends Error {}

/** @throws {UsageError} */
export function parseOptions(args: readonly string[]): Options | "help" {
  const { quick, json, out, help, ...own } = parse(args);
  if (help) return "help";
  const isOwn = Object.values(own).some((value) => value !== undefined);
  if (isOwn && quick) throw new UsageError("--quick is of the table: it cannot be combined with a run of your own");
  return {
    json,
    out,
    rows: quick ? ROWS.filter(isQuick) : ROWS,
    seeds: Array.from({ length: quick ? 2 : 10 }, (_, i) => i + 1),
    own: isOwn ? ownRuns(own) : undefined,
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        ...OWN,
        quick: { type: "boolean", default: false },
        json: { type: "boolean", default: false },
        out: { type: "string" },
        help: { type: "boolean", default: false },
      },
    }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

const isQuick = ({ demand, isolates, arrivals, mode }: Row) =>
  demand <= 2 && isolates === 20 && (arrivals === "steady" ? mode === "leased" || demand === 2 : demand === 2);

function ownRuns(given: { readonly [K in keyof typeof OWN]?: string | undefined }): Scenario[] {
  const number = (name: keyof typeof OWN, fallback: number, min: number, max: number, whole = true) => {
    const text = given[name];
    const value = text === undefined ? fallback : Number(text);
    if (text?.trim() === "" || !(value >= min && value <= max) || (whole && !Number.isInteger(value))) {
      const kind = whole ? "an integer" : "a number";
      throw new UsageError(`--${name}: expected ${kind} from ${min} to ${max}, found "${text}"`);
    }
    return value;
  };
  const choice = <T extends string>(name: keyof typeof OWN, values: readonly T[]): T | undefined => {
    const text = given[name];
    const found = values.find((value) => value === text);
    if (text !== undefined && !found)
      throw new UsageError(`--${name}: expected ${values.join(" or ")}, found "${text}"`);
    return found;
  };

  const mode = choice("mode", ["strict", "leased"]);
  const oldest = choice("oldest", ["weighted", "whole"]) ?? "weighted";
  const windowMs = number("window", WINDOW_MS, 1, 86_400_000);
  const buckets = number("buckets", 1, 1, 60);
  if (windowMs % buckets !== 0) {
    throw new UsageError(`--buckets: expected a divisor of the window (${windowMs} ms), found "${buckets}"`);
  }
  const row: Row = {
    limit: number("limit", 1_000, 1, 1_000_000),
    windowMs,
    demand: number("demand", 2, 0.001, 1_000, false),
    mode: "leased",
    isolates: number("isolates", 20, 1, 10_000),
    delayMs: delayOf(given.delay),
    windows: OWN_WINDOWS,
    arrivals: choice("arrivals", ["steady", "bursts"]) ?? "steady",
    bounds: {},
  };
  if (row.limit * row.demand * OWN_WINDOWS > MAX_REQUESTS) {
    throw new UsageError(
      `--limit times --demand: expected at most ${Math.floor(MAX_REQUESTS / OWN_WINDOWS)} requests in a window`,
    );
  }
  const limit: LimitSpec = { kind: Kind[oldest], limit: row.limit, bucketMs: windowMs / buckets, buckets };
  const seed = number("seed", 1, 0, 2 ** 32 - 1);
  return (mode ? [mode] : (["strict", "leased"] as const)).map((one) => ({
    ...scenarioOf(row, seed),
    limit,
    mode: one,
  }));
}

function delayOf(text: string | undefined): readonly [number, number] {
  if (text === undefined) return DELAY_MS;
  const found = /^(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/.exec(text);
  const [min, max] = [Number(found?.[1]), Number(found?.[2])];
  if (!(min <= max && max <= 10_000)) {
    throw new UsageError(
      `--delay: expected two numbers of ms like 5-100, the smaller first, at most 10000, found "${text}"`,
    );
  }
  return [min, max];
}
