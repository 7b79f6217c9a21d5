/** Time stands still until it is told to pass, to the next instant at which anything changes. */

import { admitsAgainAtMs } from "./cells.ts";
import type { Scene } from "./scene.ts";

/** Beside the end of a bucket, an isolate does not know on which side of it the store is. */
const NEAR_END_MS = [-3, 0, 9] as const;

/** Every flow waits at an operation of the explorer. */
export async function settled(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

export function mayPass(scene: Scene): boolean {
  const { sleeps, messages, nowMs } = scene;
  if (instantsOf(scene).length === 0) return false;
  if (sleeps.some(({ wakesAtMs }) => wakesAtMs <= nowMs)) return false;
  return !messages.some((one) => one.flow && one.request && !one.isLate && one.budgetEndsAtMs <= nowMs);
}

/** The instants after now at which anything changes. */
export function instantsOf({ sleeps, messages, homes, cells, nowMs, trustedMs }: Scene): number[] {
  const all: number[] = [];
  for (const { wakesAtMs } of sleeps) all.push(wakesAtMs);
  for (const { flow, isLate, request, budgetEndsAtMs } of messages) {
    if (flow && request && !isLate) all.push(budgetEndsAtMs);
  }
  for (const { places, offsetMs } of homes) {
    for (const { memory } of places) {
      for (const { untilMs } of memory.giveBacks) all.push(untilMs - offsetMs);
      for (const { mayRefuse, receivedAtMs, leases } of memory.records.values()) {
        if (mayRefuse) all.push(receivedAtMs - offsetMs + trustedMs);
        for (const { pausedUntilMs } of leases ?? []) all.push(pausedUntilMs - offsetMs);
      }
    }
  }
  for (const cell of cells) {
    const { ledger } = cell;
    all.push(admitsAgainAtMs(cell, nowMs) ?? nowMs);
    if (cell.slots) continue;
    if (cell.ids) all.push(...cell.ids.endsAtMs());
    const endMs = ledger.endOf(nowMs);
    for (const nearMs of NEAR_END_MS) all.push(endMs - ledger.bucketMs + nearMs, endMs + nearMs);
  }
  return all.filter((atMs) => atMs > nowMs && atMs < Number.POSITIVE_INFINITY);
}

export function pass(scene: Scene): void {
  const nextMs = Math.min(...instantsOf(scene));
  scene.say(`${nextMs - scene.nowMs} ms pass`);
  scene.nowMs = nextMs;
}
