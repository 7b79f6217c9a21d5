/** What an isolate hands on to `STATS` in one call, and how it is checked there. Plain data: it travels by RPC. */

import { isTable } from "../../kernel/config/bindings.ts";
import { isCount } from "../../kernel/core/algorithm.ts";
import { WrongRequest } from "../../kernel/store/rejected.ts";
import { MAX_CLIENTS, MAX_MINUTES, MAX_WHERE } from "./object/counts.ts";

/** What one isolate has counted since it handed on last. */
export interface Batch {
  /** The isolate: a random id, made when it first hands on. */
  readonly isolate: string;
  /** 1, 2, 3 …: a batch is sent again until it was confirmed, with its number; each number is added once. */
  readonly number: number;
  readonly minutes: readonly MinuteCounts[];
  /** The places whose breaker is open in this isolate when the batch is made. */
  readonly open: readonly string[];
  /** How long `open` holds if no other batch of the isolate comes, in ms. Absent: 60 s. */
  readonly openMs?: number;
}

export interface MinuteCounts {
  /** Minutes since the epoch, by the isolate's clock. */
  readonly minute: number;
  /** Sums by series (`seriesOf`). */
  readonly sums: Readonly<Record<string, number>>;
  /**
   * The clients with most refusals by policy (Space-Saving): hash of the key, refusals counted, of which possibly too
   * many.
   */
  readonly top: Readonly<Record<string, readonly (readonly [key: string, refused: number, excess: number])[]>>;
  /**
   * The same of where the first of these clients were refused: lists by policy and client (`whereOf`), of routes and
   * countries (`whereOf`). Absent: an isolate of an older version does not count it.
   */
  readonly where?: MinuteCounts["top"];
}

/** The name of a metric and its label values, joined by tabs: `decisions\tapi\teu\tadmitted\tcache`. */
export function seriesOf(metric: string, labels: readonly string[]): string {
  return [metric, ...labels].join("\t");
}

/** Minutes since the epoch until the year 9999. */
const LAST_MINUTE = 4_223_371_680;
const MAX_OPEN_MS = 86_400_000;
/** The name of a metric, a tab, then label values between tabs. Longer names would let a row grow beyond 2 MB. */
const SERIES = /^(?=.{3,200}$)[a-z][a-z_]*(?:\t[\x20-\x7e]*)+$/;
const NAME = /^[\x20-\x7e]{1,64}$/;
/** Two names. */
const PAIR = /^[\x20-\x7e]{1,64}\t[\x20-\x7e]{1,64}$/;

/**
 * Refuses a batch that would leave rubbish in the rows. It comes from another isolate, perhaps of another version.
 *
 * @throws {WrongRequest} with what was expected.
 */
export function checkBatch(batch: Batch): void {
  const { isolate, number, minutes, open, openMs = 0 } = (batch ?? {}) as Partial<Batch>;
  expect(isName(isolate), "isolate", "a string of 1 to 64 characters");
  expect(isCount(number) && number > 0, "number", "an integer from 1");
  expect(Array.isArray(open) && open.length <= 1_000 && open.every(isName), "open", "a list of at most 1,000 names");
  expect(isCount(openMs) && openMs <= MAX_OPEN_MS, "openMs", "at most a day, in ms");
  expect(Array.isArray(minutes), "minutes", "a list");
  for (const [i, minute] of minutes.entries()) checkMinute(minute, `minutes[${i}]`);
}

export function checkMinutes(minutes: number): void {
  expect(isCount(minutes) && minutes > 0 && minutes <= MAX_MINUTES, "minutes", `an integer from 1 to ${MAX_MINUTES}`);
}

function checkMinute(counts: MinuteCounts, path: string): void {
  const { minute, sums, top, where = {} } = (counts ?? {}) as Partial<MinuteCounts>;
  expect(isCount(minute) && minute <= LAST_MINUTE, `${path}.minute`, "minutes since the epoch");
  expect(isTable(sums), `${path}.sums`, "sums by series");
  const isSum = ([series, sum]: [string, unknown]) => SERIES.test(series) && isCount(sum);
  expect(Object.entries(sums).every(isSum), `${path}.sums`, "integers from 0 by the names of series");
  checkLists(top, `${path}.top`, NAME, MAX_CLIENTS);
  checkLists(where, `${path}.where`, PAIR, MAX_WHERE);
}

/** @param name of a list, and of what it counts. */
function checkLists(lists: unknown, path: string, name: RegExp, most: number): void {
  expect(isTable(lists), path, "lists by policy");
  const isEntry = (entry: unknown) => {
    if (!Array.isArray(entry) || entry.length !== 3) return false;
    const [key, refused, excess] = entry;
    return typeof key === "string" && name.test(key) && isCount(refused) && isCount(excess) && excess <= refused;
  };
  for (const [of, entries] of Object.entries(lists)) {
    const isList = name.test(of) && Array.isArray(entries) && entries.length <= most;
    expect(isList, path, `lists of at most ${most} clients by policy`);
    expect(entries.every(isEntry), path, "for each client key, refusals, and how many may be another's");
  }
}

function isName(value: unknown): value is string {
  return typeof value === "string" && NAME.test(value);
}

function expect(isSo: boolean, path: string, expected: string): asserts isSo {
  if (!isSo) throw new WrongRequest(`HeadgateStats: ${path}: expected ${expected}`);
}
