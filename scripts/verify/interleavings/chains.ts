/**
 * Which link of a chain pays, by an account of its own: the first whose own limit admits. Nothing in here asks
 * src/core/chain.ts.
 */

import type { LimitReply, TakeReply, TakeRequest } from "../../../src/core/take.ts";
import { admitsAt, type Cell } from "./cells.ts";

/** A cell that a call is about, and what it asks there. */
interface Asked {
  readonly cell: Cell;
  readonly key: TakeRequest["keys"][number] | undefined;
}

/** The links of the chain that a request is about. A policy that is asked without its chain is no link. */
export function linksOf(cells: readonly Cell[]): Cell[] {
  const links = cells.filter(({ rules }) => rules.link !== undefined);
  return links.length > 1 ? links : [];
}

/** Whether limits refuse by themselves. */
export function isRefusedIn(replies: readonly LimitReply[]): boolean {
  return replies.some(({ refused }) => refused);
}

/**
 * The positions of the keys that an admitted call has charged, by its reply: those that admit. Of links that were asked
 * together only the first.
 */
export function keysCharged(asked: readonly Asked[], { keys }: TakeReply): Set<number> {
  const links = linksOf(asked.map(({ cell }) => cell));
  const admitting = [...asked.keys()].filter((k) => !isRefusedIn(keys[k]!));
  const payer = admitting.find((k) => links.includes(asked[k]!.cell));
  return new Set(admitting.filter((k) => k === payer || !links.includes(asked[k]!.cell)));
}

/**
 * The link that has to pay for a take, by the counts before it: none if each link refuses, or any policy beside them.
 * undefined: no chain is asked.
 */
export function payerBefore(asked: readonly Asked[], nowMs: number): { readonly payer: string } | undefined {
  const links = linksOf(asked.map(({ cell }) => cell));
  if (links.length === 0) return undefined;
  const admitting = asked.filter(({ cell, key }) => admitsAt(cell, key!, nowMs)).map(({ cell }) => cell);
  const payer = links.find((link) => admitting.includes(link));
  const isRefused = asked.some(({ cell }) => !links.includes(cell) && !admitting.includes(cell));
  return { payer: payer && !isRefused ? payer.key : "no link" };
}

/**
 * @param units that a take has charged, by key. @param payer what `payerBefore` has said. @returns what is wrong.
 */
export function wrongPayer(asked: readonly Asked[], units: readonly number[], payer: string): string | undefined {
  const links = linksOf(asked.map(({ cell }) => cell));
  const charged = asked.filter(({ cell }, k) => links.includes(cell) && units[k] !== 0).map(({ cell }) => cell.key);
  const paid = charged.join(" and ") || "no link";
  return paid === payer ? undefined : `of the chain ${paid} is charged, and ${payer} has to pay`;
}
