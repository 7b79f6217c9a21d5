/**
 * The texts in the columns of rows: docs/storage-schema.md. What is damaged counts as absent, an entry or a whole text:
 * one damaged row must not end all metrics.
 */

import { isTable } from "../../config/bindings.ts";
import { isCount } from "../../core/algorithm.ts";
import { jsonIn } from "../../store/value-text.ts";
import type { Entry, Lists } from "./top.ts";

export function sumsIn(text: unknown): (readonly [minute: number, sums: Readonly<Record<string, number>>])[] {
  return Object.entries(tableIn(text)).flatMap(([minute, sums]) => {
    return isCount(Number(minute)) && isSums(sums) ? [[Number(minute), sums] as const] : [];
  });
}

export function clientsIn(text: unknown): Lists {
  const isEntry = (one: unknown): one is Entry => isTuple(one, 3);
  const lists = Object.entries(tableIn(text)).map(([policy, list]) => [policy, listOf(list, isEntry)]);
  return Object.fromEntries(lists);
}

export function isolatesIn(text: unknown): Map<string, number> {
  return new Map(listOf(jsonIn(text), (one): one is readonly [isolate: string, number: number] => isTuple(one, 2)));
}

/** A series, its sum, and the last hour in which it counted. */
export type Total = readonly [series: string, sum: number, hour: number];

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

function isSums(value: unknown): value is Readonly<Record<string, number>> {
  return isTable(value) && Object.values(value).every(isCount);
}

/** A text, and then counts. */
function isTuple(value: unknown, length: number): boolean {
  if (!Array.isArray(value) || value.length !== length) return false;
  const [name, ...counts] = value;
  return typeof name === "string" && counts.every(isCount);
}
