/**
 * What one limit counts for the clients when each rung of a ladder is its only number. The algorithms are those of the
 * gateway. What is saved is work that several rungs would do in the same way.
 */

import type { KeptValue } from "../../../core/algorithm.ts";
import { algorithmOf, type LimitRecord, type LimitValue } from "../../../core/algorithms.ts";
import { Kind } from "../../../core/layout.ts";
import type { Limit } from "../../../core/policy.ts";
import type { BucketLimit } from "../../../core/token-bucket.ts";

/** One request. */
export interface RungRequest {
  readonly client: number;
  readonly cost: number;
  readonly nowMs: number;
  /** The number of the request. */
  readonly slot: number;
  /** The limit by rung. */
  readonly limits: readonly Limit[];
}

export interface RungCounts {
  /** Whether it has counts of this client. */
  has(client: number): boolean;
  /** Decides for all rungs. @param refused gets a 1 for each rung that refuses. @returns how many refuse. */
  take(request: RungRequest, refused: Uint8Array): number;
  /** Renews or releases the slot of a request, on the rungs that have admitted it. */
  settle(request: RungRequest, change: "charge" | "giveBack"): void;
  /** Forgets expired counts if there may be many. */
  sweep(nowMs: number): void;
}

export function rungCounts(limit: Limit, rungs: number): RungCounts {
  return limit.kind === Kind.bucket ? new BucketCounts(rungs) : new SharedCounts(rungs);
}

/** Sweeping goes through all counts: it is worth its time once this many have come. */
const LEAST_SWEPT = 10_000;

/** Counts by client that expire. */
class Expiring<T extends { readonly expiresAtMs: number }> {
  readonly byClient = new Map<number, T>();
  #sweepAt = LEAST_SWEPT;

  sweep(nowMs: number): void {
    if (this.byClient.size < this.#sweepAt) return;
    for (const [client, { expiresAtMs }] of this.byClient) if (expiresAtMs <= nowMs) this.byClient.delete(client);
    this.#sweepAt = Math.max(LEAST_SWEPT, 2 * this.byClient.size);
  }
}

/** The counts of neighbouring rungs, which have admitted the same requests until now. */
interface Group {
  /** The rung after the last one. */
  end: number;
  record: LimitRecord | undefined;
  value: LimitValue | undefined;
}

/**
 * Counts that do not depend on the number of the limit. Rungs that have admitted the same requests have the same
 * counts, and are decided together. By the same counts, a larger number admits whatever a smaller one admits: a group
 * falls into at most two, the refusing rungs and the admitting ones.
 */
class SharedCounts implements RungCounts {
  readonly #rungs: number;
  readonly #clients = new Expiring<{ groups: Group[]; expiresAtMs: number }>();

  constructor(rungs: number) {
    this.#rungs = rungs;
  }

  has(client: number): boolean {
    return this.#clients.byClient.has(client);
  }

  take(request: RungRequest, refused: Uint8Array): number {
    const { client, cost, nowMs, slot, limits } = request;
    const { byClient } = this.#clients;
    let kept = byClient.get(client);
    if (!kept) {
      kept = { groups: [this.#asNew()], expiresAtMs: nowMs };
      byClient.set(client, kept);
    }
    const limit = limits[0]!;
    const algorithm = algorithmOf(limit);
    const instant = { nowMs, atMs: 0, slot };
    const groups: Group[] = [];
    let [start, all, expiresAtMs] = [0, 0, nowMs];
    for (const { end, record, value } of kept.groups) {
      const state = algorithm.read(record, value, limit, nowMs);
      let rung = start;
      while (rung < end && !algorithm.admits(state, limits[rung]!, cost, nowMs)) refused[rung++] = 1;
      all += rung - start;
      const add = (after: typeof state, until: number) => {
        const found: KeptValue<LimitValue> | undefined = algorithm.keptValue?.(after, limit, nowMs);
        const resetAfterMs = algorithm.resetAfterMs(after, limit, nowMs);
        expiresAtMs = Math.max(expiresAtMs, nowMs + resetAfterMs, nowMs + (found?.expiryMs ?? 0));
        const isNew = resetAfterMs === 0 && !found;
        const last = groups.at(-1);
        if (isNew && last && isAsNew(last)) last.end = until;
        else groups.push({ end: until, record: isNew ? undefined : algorithm.record(after), value: found?.value });
      };
      if (rung > start) add(state, rung);
      if (rung < end) add(cost > 0 ? algorithm.charge(state, limit, cost, instant) : state, end);
      start = end;
    }
    kept.groups = groups;
    kept.expiresAtMs = expiresAtMs;
    return all;
  }

  settle({ client, cost, nowMs, slot, limits }: RungRequest, change: "charge" | "giveBack"): void {
    const limit = limits[0]!;
    const algorithm = algorithmOf(limit);
    const kept = this.#clients.byClient.get(client);
    for (const group of kept?.groups ?? []) {
      if (!(group.value instanceof Map && group.value.has(slot))) continue;
      const state = algorithm.read(group.record, group.value, limit, nowMs);
      const after = algorithm[change](state, limit, cost, { nowMs, atMs: 0, slot });
      const found: KeptValue<LimitValue> | undefined = algorithm.keptValue?.(after, limit, nowMs);
      group.value = found?.value;
      kept!.expiresAtMs = Math.max(kept!.expiresAtMs, nowMs + (found?.expiryMs ?? 0));
    }
  }

  sweep(nowMs: number): void {
    this.#clients.sweep(nowMs);
  }

  #asNew(): Group {
    return { end: this.#rungs, record: undefined, value: undefined };
  }
}

function isAsNew({ record, value }: Group): boolean {
  return record === undefined && value === undefined;
}

/** The number is the rate at which a bucket refills: each rung has its own debt. All debts are as of one instant. */
class BucketCounts implements RungCounts {
  readonly #rungs: number;
  readonly #clients = new Expiring<{ readonly debts: Float64Array; atMs: number; expiresAtMs: number }>();

  constructor(rungs: number) {
    this.#rungs = rungs;
  }

  has(client: number): boolean {
    return this.#clients.byClient.has(client);
  }

  take({ client, cost, nowMs, slot, limits }: RungRequest, refused: Uint8Array): number {
    const { byClient } = this.#clients;
    let kept = byClient.get(client);
    if (!kept) {
      kept = { debts: new Float64Array(this.#rungs), atMs: nowMs, expiresAtMs: nowMs };
      byClient.set(client, kept);
    }
    const { debts, atMs } = kept;
    const { kind, windowMs } = limits[0] as BucketLimit;
    const algorithm = algorithmOf({ kind });
    const instant = { nowMs, atMs: 0, slot };
    let [all, expiresAtMs] = [0, nowMs];
    for (let rung = 0; rung < debts.length; rung++) {
      const limit = limits[rung]!;
      const state = algorithm.read({ kind, windowMs, atMs, debt: debts[rung]! }, undefined, limit, nowMs);
      const admits = algorithm.admits(state, limit, cost, nowMs);
      const after = admits && cost > 0 ? algorithm.charge(state, limit, cost, instant) : state;
      debts[rung] = (algorithm.record(after) as { readonly debt: number }).debt;
      expiresAtMs = Math.max(expiresAtMs, nowMs + algorithm.resetAfterMs(after, limit, nowMs));
      if (admits) continue;
      refused[rung] = 1;
      all++;
    }
    kept.atMs = nowMs;
    kept.expiresAtMs = expiresAtMs;
    return all;
  }

  /** A bucket has no slots. */
  settle(): void {}

  sweep(nowMs: number): void {
    this.#clients.sweep(nowMs);
  }
}
