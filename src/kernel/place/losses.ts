/**
 * Recognises a store that loses counts, such as a Redis that evicts keys when it is full. No decision depends on it.
 *
 * What this isolate has charged and not given back counts until its window ends: others give back only what they have
 * charged themselves. If a reply shows nothing of it, the count is lost, or somebody has reset it through another
 * isolate. Nobody resets many clients at once, so several have to be missing.
 */

import { algorithmOf } from "../core/algorithms.ts";
import { ENFORCED, Flag, type KeyRequest, type Receipt } from "../core/take.ts";
import type { KeyReply } from "./record.ts";

/** The store loses counts if it has lost those of so many clients within so many ms. */
const CLIENTS = 5;
const WITHIN_MS = 600_000;
/** The clock by which a store drops what has ended may be this far from the one that it shows, in ms. */
const SURE_MS = 1_000;

export interface Losses {
  /** When counts of these clients were found missing, by the local clock, in ms since the epoch. The newest is last. */
  readonly clients: Map<string, number>;
  /** The store has begun to lose counts, and the log does not say so yet. */
  isUntold: boolean;
}

export function newLosses(): Losses {
  return { clients: new Map(), isUntold: false };
}

/** The units that a call has surely added to every limit of a key. 0: none, or nobody knows. */
export function unitsAdded(receipt: Receipt | undefined, { limits }: KeyRequest, flag: Flag): number {
  if (!receipt || receipt.group !== ENFORCED || receipt.once?.isRepeat) return 0;
  const { cost } = receipt;
  if (flag === Flag.take) return cost;
  // Beyond a limit nobody sees what was there before.
  return receipt.limits.length === limits.length && limits.every(({ limit }) => cost < limit) ? cost : 0;
}

/**
 * Looks whether a reply lacks units that must still count. @param added what its own call has added. @param sinceMs
 * when those units were added to the same limits, by the store's clock, in ms since the epoch.
 */
export function noticeLoss(losses: Losses, key: string, reply: KeyReply, added: number, sinceMs: number): void {
  if (!isLost(reply, added, sinceMs)) return;
  const { clients } = losses;
  const { receivedAtMs } = reply;
  const wasLosing = isLosing(losses, receivedAtMs);
  // The partition: an operator may reset one client under several policies.
  const client = /:([^:}]*)\}/.exec(key)?.[1] ?? key;
  clients.delete(client);
  clients.set(client, receivedAtMs);
  if (clients.size > CLIENTS) clients.delete(clients.keys().next().value!);
  losses.isUntold ||= !wasLosing && isLosing(losses, receivedAtMs);
}

/** Whether a limit is as if nothing had been added before, although the window of those units has not ended. */
function isLost({ limits, replies, storeAtMs }: KeyReply, added: number, sinceMs: number): boolean {
  return limits.some((limit, l) => {
    const { bucketAt, remaining, read, charge, records } = algorithmOf(limit);
    // Token buckets, which refill all the time, and slots, which come back at any moment, have no buckets of time.
    if (bucketAt(limit, storeAtMs) === 0 || remaining(replies[l]!.view, limit, storeAtMs) + added < limit.limit)
      return false;
    const empty = read(undefined, undefined, limit, sinceMs);
    const charged = records!.of(charge(empty, limit, 1, { nowMs: sinceMs, atMs: 0, slot: 0 }));
    return records!.endsAtMs(charged) > storeAtMs + SURE_MS;
  });
}

function isLosing({ clients }: Losses, nowMs: number): boolean {
  const [oldestAtMs = 0] = clients.values();
  return clients.size === CLIENTS && Math.abs(nowMs - oldestAtMs) < WITHIN_MS;
}

/** What the operator must change, a sentence for health and log. Undefined: the store is not known to lose counts. */
export function lossWarning(losses: Losses, kind: string, nowMs: number): string | undefined {
  if (!isLosing(losses, nowMs)) return undefined;
  const mend =
    kind === "redis"
      ? "set maxmemory-policy to noeviction (at Upstash: turn eviction off), and keep its data over a restart"
      : "let it keep every count until its window ends";
  return `the store (${kind}) has lost the counts of ${CLIENTS} or more clients within 10 minutes, so they get more than their limits: ${mend}. If you have just reset these clients, nothing is wrong`;
}
