/** What admitted requests have charged, and may still give back. */

import { Flag, type TakeRequest } from "../../../src/kernel/core/take.ts";
import { type Cell, unitsIn } from "./cells.ts";
import type { Charged, Flow, Home } from "./parts.ts";
import type { Scene } from "./scene.ts";

/** A home owes units to a cell from now on. What was admitted in shadow is not owed. */
export function owe(scene: Scene, home: Home, { index, rules }: Cell, units: number): void {
  if (units === 0 || rules.mode === "shadow") return;
  const account = home.accounts[index]!;
  if (account.owed === account.repaid) account.owesSinceMs = scene.nowMs;
  account.owed += units;
}

/** A request has charged a cell, or its isolate has in its stead. */
export function charge(flow: Flow, cell: Cell, cost: number, how: Pick<Charged, "atMs" | "isAlone" | "isReset">): void {
  const units = unitsIn(cell, cost);
  if (units > 0) flow.charged.push({ cell, units, owedAfter: undefined, ...how });
}

/**
 * What an isolate has admitted alone was surely not charged: it owes what was not given back since. A request with an
 * id is not owed: its repeat would be charged too.
 */
export function oweAlone(scene: Scene, { home, charged, onceId }: Flow, cell: Cell): void {
  if (cell.ids && onceId > 0) return;
  for (const one of charged) {
    if (one.cell !== cell || !one.isAlone) continue;
    one.owedAfter = home.accounts[cell.index]!.debtsSent;
    owe(scene, home, cell, one.units);
  }
}

/** Books what a settlement promises: units come back from what was charged last, or more are charged. */
export function bookSettlement(scene: Scene, { home, charged, isReset }: Flow, used: number): void {
  for (const cell of scene.cells) {
    const all = charged.filter((one) => one.cell === cell);
    if (all.length === 0) continue;
    const reserved = all.reduce((sum, { units }) => sum + units, 0);
    owe(scene, home, cell, Math.max(0, used - reserved));
    let unused = Math.max(0, reserved - used);
    for (const one of all.toReversed()) {
      const back = Math.min(unused, one.units);
      unused -= back;
      one.units -= back;
      if (!one.isReset) cell.ledger.settled(back, one.atMs, one.isAlone);
      if (isReset && !one.isReset && !one.isAlone) cell.ledger.lapse(back, one.atMs);
      const account = home.accounts[cell.index]!;
      // Units that were repaid meanwhile stay charged.
      if (one.owedAfter === account.debtsSent) account.owed -= back;
    }
  }
}

/**
 * A cell is reset. @returns the units that requests in flight may still give back, with an instant of their bucket: a
 * reset does not end a reservation.
 */
export function voidCharges({ flows, messages }: Scene, cell: Cell): { units: number; atMs: number }[] {
  return flows.flatMap((flow) => {
    const own = flow.charged.filter((one) => one.cell === cell && !one.isReset);
    for (const one of own) one.isReset = true;
    const isOnWay = messages.some(({ flow: of, request }) => of === flow && request?.flag === Flag.giveBack);
    return flow.held && !isOnWay ? own : [];
  });
}

/** The units of a message with this flag, by cell, each with an instant of its bucket. */
export function unitsWith(
  asked: readonly { readonly cell: Cell; readonly key: TakeRequest["keys"][number] | undefined }[],
  request: TakeRequest | undefined,
  flag: Flag,
): { cell: Cell; units: number; atMs: number }[] {
  return asked.flatMap(({ cell, key }) => {
    if (!key || !request || (key.flag ?? request.flag) !== flag) return [];
    return [{ cell, units: unitsIn(cell, key.cost), atMs: key.atMs ?? request.atMs ?? 0 }];
  });
}
