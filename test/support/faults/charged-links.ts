// Compares the counts with what the origin was told: `Headgate-Paid-By`.
//
// All policies have `onStoreFailure = "deny"`. A request is refused then if a place has not answered its gateway, and
// each unit in the counts belongs to a request that was admitted, or
//
// - to a take that ran although its answer did not come in time, or
// - to a call that was to give the unit back and got lost, or
// - with several places, to a breaker that had opened before the unit could be given back.
//
// For every policy, units - admitted is at least 0, and at most the number of these. (Under `local` the isolates
// admit by counts of their own meanwhile, and under `allow` without any. Each of them may admit up to the limit again,
// and charges afterwards what it has admitted.)

import { Flag } from "../../../src/kernel/core/take.ts";
import { policyOf } from "../../../src/kernel/limiter/store-key.ts";
import { firstWindow, keyRequest } from "../../../src/testing/store-case.ts";
import type { ChainedPlaces } from "./chained-places.ts";
import { BESIDE, keyOf, LINKS, NAMES, NARROW, type Name, type Sent, specOf } from "./chained-requests.ts";
import type { CountedCall } from "./counted-calls.ts";

/** What a policy has in the end: the requests that it paid for, its units, and the most units that it may hold. */
interface Account {
  paid: number;
  units: number;
  most: number;
}

export interface Told {
  readonly statuses: Readonly<Record<number, number>>;
  /** Calls to the counts, and those that met a fault. */
  readonly calls: number;
  readonly faults: number;
  readonly policies: Readonly<Record<Name, Readonly<Account>>>;
  /** Units that perhaps could not be given back because a breaker had opened. */
  readonly stayed: number;
  /** Clients whose three links lie in three places. */
  readonly spread: number;
  /** What must not be, in words. */
  readonly wrong: readonly string[];
}

/** What such a take has charged may stay, and what such a call should have given back does. */
const isUnknown = ({ outcome, isGiveBack }: CountedCall) =>
  outcome === "unknown" || outcome === (isGiveBack ? "not-run" : "late");

/** @param paidBy what the origin was told, by the number of the request in `sent`. */
export async function compareCharges(
  places: ChainedPlaces,
  sent: readonly Sent[],
  paidBy: ReadonlyMap<number, string>,
  limits: Record<Name, number>,
): Promise<Told> {
  const wrong: string[] = [];
  const { calls, faults } = await places.calls();
  const unknown = calls.filter(isUnknown);
  const policies = Object.fromEntries(
    NAMES.map((name) => {
      const most = unknown.filter(({ keys }) => keys.some((key) => policyOf(key) === name)).length;
      return [name, { paid: 0, units: 0, most }];
    }),
  ) as Record<Name, Account>;

  const paid = new Map<string, number>();
  const clients = new Set<string>();
  for (const [n, one] of sent.entries()) {
    const keys = await Promise.all(LINKS.map((name) => keyOf(name, one)));
    if (new Set(keys.map(places.placeOf)).size === LINKS.length) clients.add(one.user);
    for (const key of [...keys, await keyOf(BESIDE, one)]) paid.set(key, paid.get(key) ?? 0);
    const payer = paidBy.get(n);
    if ((one.status === 200) !== (payer !== undefined)) wrong.push(`request ${n}: ${one.status}, paid by ${payer}`);
    if (![200, 429, 503].includes(one.status)) wrong.push(`request ${n}: status ${one.status}`);
    if (payer === undefined) continue;
    if (!LINKS.some((name) => name === payer)) wrong.push(`request ${n}: paid by ${payer}`);
    for (const key of await paidKeys(one, payer)) paid.set(key, (paid.get(key) ?? 0) + 1);
  }
  for (const [key, admitted] of paid) {
    const name = policyOf(key) as Name;
    const units = await unitsOf(places, key, limits[name]);
    if (units < admitted) wrong.push(`${key}: ${units} units for ${admitted} admitted requests`);
    if (Math.max(units, admitted) > limits[name]) wrong.push(`${key}: ${units} units, limit ${limits[name]}`);
    policies[name].paid += admitted;
    policies[name].units += units;
  }

  const stayed = await mayHaveStayed(places, sent, paidBy);
  for (const key of stayed) policies[policyOf(key) as Name].most++;
  let extra = 0;
  for (const name of NAMES) {
    const one = policies[name];
    one.most += one.paid;
    if (one.units > one.most) wrong.push(`${name}: ${one.units} units, expected at most ${one.most}`);
    if (name !== BESIDE) extra += one.units - one.paid;
  }
  const most = unknown.length + stayed.length;
  if (extra > most) wrong.push(`${extra} units of links that nobody paid for, expected at most ${most}`);

  const statuses: Record<number, number> = {};
  for (const { status } of sent) statuses[status] = (statuses[status] ?? 0) + 1;
  return { statuses, calls: calls.length, faults, policies, spread: clients.size, stayed: stayed.length, wrong };
}

/** The keys that are charged for an admitted request. */
async function paidKeys(one: Sent, payer: string): Promise<string[]> {
  return await Promise.all([payer, ...(one.path === NARROW ? [BESIDE] : [])].map((name) => keyOf(name, one)));
}

/**
 * The keys under which a unit may have stayed: a refused attempt charges its other policies in other places, and a
 * breaker may have opened before that came back.
 */
async function mayHaveStayed(
  places: ChainedPlaces,
  sent: readonly Sent[],
  paidBy: ReadonlyMap<number, string>,
): Promise<string[]> {
  const stayed: string[] = [];
  for (const [n, one] of sent.entries()) {
    const gateway = n % places.gateways.length;
    const names = one.path === NARROW ? NAMES : LINKS;
    const keys = await Promise.all(names.filter((name) => name !== paidBy.get(n)).map((name) => keyOf(name, one)));
    stayed.push(...keys.filter((key) => places.wasOpen(gateway, places.placeOf(key), one.sentAtMs, one.answeredAtMs)));
  }
  return stayed;
}

async function unitsOf(places: ChainedPlaces, key: string, limit: number): Promise<number> {
  const keys = [keyRequest(key, [specOf(limit)], { cost: 0 })];
  return firstWindow(await places.take({ keys, flag: Flag.look })).counts.reduce((sum, count) => sum + count, 0);
}
