/** The slots of admitted requests: renewed, as the gateway does it, and released when the request has ended. */

import { isConcurrency } from "../../../core/concurrency.ts";
import { Flag, type KeyRequest, type TakeReply, type TakeRequest } from "../../../core/take.ts";
import { type Keeper, keyName, type Place } from "./counts.ts";
import { InFlight, renewedEveryMs } from "./in-flight.ts";

/** The slots of a request in flight. */
interface Held {
  readonly keys: readonly KeyRequest[];
  readonly places: readonly Place[];
  readonly slot: number;
  readonly endMs: number;
  readonly renewEveryMs: number;
}

export class Slots {
  readonly #keeper: Keeper;
  readonly #inFlight = new InFlight<Held>();
  #unknownDurations = 0;
  #endedEarly = 0;

  /** @param keeper has the counts from which the requests took. */
  constructor(keeper: Keeper) {
    this.#keeper = keeper;
  }

  /** Holds the slots that an admitted request took. @param all the places of its keys. */
  hold(
    all: readonly Place[],
    { keys: requests, slot }: Required<Pick<TakeRequest, "keys" | "slot">>,
    reply: TakeReply,
    durationMs: number | undefined,
    nowMs: number,
  ): void {
    if (durationMs === undefined) {
      this.#unknownDurations++;
      return;
    }
    const refusedGroups = new Set(requests.flatMap(({ group }, k) => (reply.keys[k]!.some(isRefused) ? [group] : [])));
    const [keys, places]: [KeyRequest[], Place[]] = [[], []];
    let renewEveryMs = Number.POSITIVE_INFINITY;
    for (const [k, request] of requests.entries()) {
      const limits = request.limits.filter(isConcurrency);
      if (limits.length === 0 || request.cost === 0 || refusedGroups.has(request.group)) continue;
      keys.push({ ...request, key: keyName(keys.length), limits });
      places.push(all[k]!);
      renewEveryMs = Math.min(renewEveryMs, ...limits.map(({ timeoutMs }) => renewedEveryMs(timeoutMs)));
    }
    if (keys.length === 0) return;
    if (this.#inFlight.isFull) {
      this.#endedEarly++;
      this.#settle(this.#inFlight.next(Number.POSITIVE_INFINITY)!.what, Flag.giveBack, nowMs);
    }
    const endMs = nowMs + durationMs;
    this.#inFlight.add(Math.min(endMs, nowMs + renewEveryMs), { keys, places, slot, endMs, renewEveryMs });
  }

  /** Renews and releases slots until this instant. */
  advance(nowMs: number): void {
    for (;;) {
      const event = this.#inFlight.next(nowMs);
      if (!event) return;
      const { atMs, what } = event;
      if (atMs >= what.endMs) this.#settle(what, Flag.giveBack, atMs);
      else {
        this.#settle(what, Flag.chargeAnyway, atMs);
        this.#inFlight.add(Math.min(what.endMs, atMs + what.renewEveryMs), what);
      }
    }
  }

  #settle({ keys, places, slot }: Held, flag: Flag, atMs: number): void {
    this.#keeper.take(places, { keys, flag, slot }, atMs);
  }

  notes(): string[] {
    const [unknown, early] = [this.#unknownDurations, this.#endedEarly];
    const untold = `${unknown} requests do not tell how long they took: each holds its slot until the timeout`;
    const full = `${early} requests gave their slots back too early: more were in flight than can be kept`;
    return [...(unknown > 0 ? [untold] : []), ...(early > 0 ? [full] : [])];
  }
}

function isRefused({ refused }: { readonly refused: boolean }): boolean {
  return refused;
}
