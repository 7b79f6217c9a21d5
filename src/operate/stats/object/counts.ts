/**
 * What a row counts: sums by minute and series, the clients with most refusals and where they were refused, and the
 * isolates that were heard; and the texts of its columns (docs/storage-schema.md). What is damaged in a text counts as
 * absent, an entry or a whole text: one damaged row must not end all metrics.
 */

import { isTable } from "../../../kernel/config/bindings.ts";
import { isCount } from "../../../kernel/core/algorithm.ts";
import { jsonIn } from "../../../kernel/store/value-text.ts";
import { namesModel } from "../metrics.ts";

/** In minutes. */
export const HOUR = 60;
export const DAY = 24 * HOUR;
/** Rows of hours are kept this long: more minutes cannot be read. */
export const MAX_MINUTES = 30 * DAY;

/** From so many series on, a new one has no value that a caller has chosen. A row of twice as many is below 2 MB. */
export const MAX_SERIES = 2_000;
/** Up to this many series, none is forgotten. */
const KEPT_SERIES = MAX_SERIES / 2;
/**
 * How many isolates are remembered, so that a batch that is sent again is not added again. A busy site has some
 * hundreds at a time. An isolate is forgotten once this many others were heard after it. A row holds at most this many,
 * in about 400 KB.
 */
const MAX_ISOLATES = 5_000;

/** Clients that are kept for each policy. */
export const MAX_CLIENTS = 64;
/** Clients of a policy while lists are merged: to sort them after each list would take seconds for a day. */
const MAX_MERGED = 512;
/** Of so many of them, and so many routes and countries of each, a row also keeps where they were refused. */
export const MAX_WHERE_CLIENTS = 10;
export const MAX_WHERE = 5;
/** So many clients may have such lists while lists are merged. */
const MAX_MERGED_WHERE = 2_000;
/** Policies whose clients are kept in one row. */
const MAX_POLICIES = 100;

export type Sums = Map<string, number>;

/**
 * A client of a policy: how many refusals were counted for it, and how many of them may be another's (Space-Saving).
 * Lists of many isolates are merged: both numbers are added. Their difference is what certainly was this client's.
 */
type TopEntry = readonly [key: string, refused: number, excess: number];
export type Lists = Readonly<Record<string, readonly TopEntry[]>>;
/** For each policy at most `MAX_MERGED` entries by the client's key. */
export type Top = Map<string, Map<string, TopEntry>>;

/** A policy and a client of it, or a route and a country. */
export function whereOf(first: string, second: string): string {
  return `${first}\t${second}`;
}

/** The row of the minute, or of the hour, in which its batches arrived. */
export interface StoredCounts {
  /** Minutes since the epoch. An hour is named by its first minute. */
  readonly arrived: number;
  /** By the minute, or hour, in which it happened: `arrived`, or earlier if the batch was late. */
  readonly sums: Map<number, Sums>;
  readonly top: Top;
  /** By policy and client (`whereOf`), in place of clients the routes and countries (`whereOf`) of their refusals. */
  readonly where: Top;
  /** The number of the last batch by isolate, the isolate that was heard last at the end. */
  readonly isolates: Map<string, number>;
}

/** The same in the columns of a row. */
export type CountsText = Readonly<Record<"sums" | "top" | "isolates", string>>;

export function noCounts(arrived: number, isolates = new Map<string, number>()): StoredCounts {
  return { arrived, sums: new Map(), top: new Map(), where: new Map(), isolates };
}

/** Late counts of many minutes would make a row too large: beyond `MAX_SERIES`, they count in the minute of arrival. */
export function addSum({ arrived, sums }: StoredCounts, at: number, series: string, sum: number): void {
  const isFull = at !== arrived && !sums.get(at)?.has(series) && sizeOf(sums) >= MAX_SERIES;
  const minute = isFull ? arrived : at;
  const own: Sums = sums.get(minute) ?? new Map();
  addTo(own, series, sum);
  sums.set(minute, own);
}

/** Adds sums and clients. @param atOf the minute or hour under which the sums of a minute are kept. */
export function addCounts(into: StoredCounts, from: CountsText, atOf: (minute: number) => number): void {
  for (const [minute, series, sum] of sumsIn(from.sums)) addSum(into, atOf(minute), series, sum);
  addClients(into.top, clientsIn(from.top));
  addWhere(into.where, whereIn(from.top), into.top);
}

export function addTo(sums: Sums, series: string, sum: number): void {
  sums.set(series, (sums.get(series) ?? 0) + sum);
}

/** @param maxLists further lists are left out. */
export function addClients(top: Top, lists: Lists, maxLists = MAX_POLICIES): void {
  for (const [policy, entries] of Object.entries(lists)) {
    const clients = top.get(policy) ?? new Map<string, TopEntry>();
    if (clients.size === 0 && top.size >= maxLists) continue;
    for (const [key, refused, excess] of entries) {
      const [, refusedBefore, excessBefore] = clients.get(key) ?? [key, 0, 0];
      clients.set(key, [key, refusedBefore + refused, excessBefore + excess]);
    }
    const isTooMany = clients.size > MAX_MERGED;
    top.set(policy, isTooMany ? new Map(mostOf(clients, MAX_CLIENTS).map((entry) => [entry[0], entry])) : clients);
  }
}

/** From `MAX_MERGED_WHERE` lists on, only those of the first clients of `top` stay. */
export function addWhere(where: Top, lists: Lists, top: Top): void {
  addClients(where, lists, Number.POSITIVE_INFINITY);
  if (where.size <= MAX_MERGED_WHERE) return;
  const first = whereOfFirst(listsOf(top), where);
  where.clear();
  addClients(where, first, Number.POSITIVE_INFINITY);
}

/** Where the first clients of these lists were refused. */
export function whereOfFirst(lists: Lists, where: Top): Lists {
  const first = Object.entries(lists).flatMap(([policy, entries]) =>
    entries.slice(0, MAX_WHERE_CLIENTS).map(([key]) => whereOf(policy, key)),
  );
  const found = first.filter((client) => where.has(client));
  return Object.fromEntries(found.map((client) => [client, mostOf(where.get(client)!, MAX_WHERE)]));
}

/** The refusals that are certainly the client's. */
export function certain([, refused, excess]: TopEntry): number {
  return refused - excess;
}

/** For each policy at most `MAX_CLIENTS`, the most certain first. */
export function listsOf(top: Top): Lists {
  return Object.fromEntries([...top].map(([policy, clients]) => [policy, mostOf(clients, MAX_CLIENTS)]));
}

function mostOf(clients: ReadonlyMap<string, TopEntry>, most: number): TopEntry[] {
  return [...clients.values()].sort((a, b) => certain(b) - certain(a) || b[1] - a[1]).slice(0, most);
}

export function remember(isolates: StoredCounts["isolates"], isolate: string, number: number): void {
  isolates.delete(isolate);
  isolates.set(isolate, number);
  if (isolates.size <= MAX_ISOLATES) return;
  const [first] = isolates.keys();
  isolates.delete(first!);
}

/** The name of these lists in the column `top`: no policy has it, and older versions find no list there. */
const WHERE = "";

export function textOf({ sums, top, where, isolates }: StoredCounts): CountsText {
  const lists = listsOf(top);
  const byMinute = [...sums].map(([minute, sums]) => [minute, Object.fromEntries(sums)]);
  return {
    sums: JSON.stringify(Object.fromEntries(byMinute)),
    top: JSON.stringify({ ...lists, [WHERE]: whereOfFirst(lists, where) }),
    isolates: JSON.stringify([...isolates]),
  };
}

/**
 * The column `totals` of an hour. A series that has not counted for 30 days is forgotten when there are many, so that
 * policies, limits and regions that were renamed do not push out those that are there now. That of a model is forgotten
 * in any case, because few models have a name of their own.
 *
 * @param totals up to the end of this hour. @param counts of this hour. @param before the text of the last hour.
 */
export function totalsText(totals: Sums, { arrived, sums }: StoredCounts, before: string | undefined): string {
  const countedAt = new Map(totalsIn(before).map(([series, , hour]) => [series, hour]));
  for (const counted of sums.values()) for (const series of counted.keys()) countedAt.set(series, arrived);
  const all = [...totals].map(([series, sum]): Total => [series, sum, countedAt.get(series) ?? arrived]);
  const isMany = all.length > KEPT_SERIES;
  const isLasting = (series: string) => !isMany && !namesModel(series.split("\t"));
  return JSON.stringify(all.filter(([series, , hour]) => arrived - hour <= MAX_MINUTES || isLasting(series)));
}

export function countsIn(arrived: number, text: CountsText): StoredCounts {
  const counts = noCounts(arrived, isolatesIn(text.isolates));
  addCounts(counts, text, (minute) => minute);
  return counts;
}

export function sumsIn(text: unknown): (readonly [minute: number, series: string, sum: number])[] {
  return Object.entries(tableIn(text)).flatMap(([minute, sums]) => {
    if (!isCount(Number(minute)) || !isTable(sums) || !Object.values(sums).every(isCount)) return [];
    return Object.entries(sums).map(([series, sum]) => [Number(minute), series, sum as number] as const);
  });
}

export function clientsIn(text: unknown): Lists {
  const { [WHERE]: _, ...lists } = tableIn(text);
  return listsIn(lists);
}

export function whereIn(text: unknown): Lists {
  return listsIn(tableIn(text)[WHERE]);
}

function listsIn(table: unknown): Lists {
  const isEntry = (one: unknown): one is TopEntry => isTuple(one, 3);
  const all = Object.entries(isTable(table) ? table : {});
  return Object.fromEntries(all.map(([name, list]) => [name, listOf(list, isEntry)]));
}

export function isolatesIn(text: unknown): StoredCounts["isolates"] {
  return new Map(listOf(jsonIn(text), (one): one is readonly [isolate: string, number: number] => isTuple(one, 2)));
}

type Total = readonly [series: string, sum: number, hour: number];

export function totalsIn(text: unknown): readonly Total[] {
  return listOf(jsonIn(text), (one): one is Total => isTuple(one, 3));
}

export function placesIn(text: unknown): readonly string[] {
  return listOf(jsonIn(text), (one) => typeof one === "string");
}

function tableIn(text: unknown): Readonly<Record<string, unknown>> {
  const json = jsonIn(text);
  return isTable(json) ? json : {};
}

function listOf<T>(json: unknown, isOne: (one: unknown) => one is T): readonly T[] {
  return Array.isArray(json) ? json.filter(isOne) : [];
}

/** A text, and then counts. */
function isTuple(value: unknown, length: number): boolean {
  if (!Array.isArray(value) || value.length !== length) return false;
  const [name, ...counts] = value;
  return typeof name === "string" && counts.every(isCount);
}

function sizeOf(sums: Map<number, Sums>): number {
  let size = 0;
  for (const one of sums.values()) size += one.size;
  return size;
}
