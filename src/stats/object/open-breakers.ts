/**
 * Which isolates have stopped calling a place. Only in memory: what was said before the object started is too old soon.
 */

import type { Batch } from "../batch.ts";

/** How long it counts if the isolate does not say. */
const DEFAULT_MS = 60_000;
const MAX_ISOLATES = 5_000;

interface Said {
  readonly untilMs: number;
  readonly places: readonly string[];
}

export class OpenBreakers {
  /** The isolate that spoke last is at the end. */
  readonly #said = new Map<string, Said>();

  /** Replaces what the isolate said before. */
  report({ isolate, open: places, openMs = DEFAULT_MS }: Batch, nowMs: number): void {
    this.#said.delete(isolate);
    if (places.length > 0) this.#said.set(isolate, { untilMs: nowMs + openMs, places });
    const [first] = this.#said.keys();
    if (this.#said.size > MAX_ISOLATES) this.#said.delete(first!);
  }

  /** Isolates by place. */
  byPlace(nowMs: number): Map<string, number> {
    const found = new Map<string, number>();
    for (const { untilMs, places } of this.#said.values()) {
      if (nowMs >= untilMs) continue;
      for (const place of new Set(places)) found.set(place, (found.get(place) ?? 0) + 1);
    }
    return found;
  }
}
