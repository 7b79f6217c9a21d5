/**
 * Which isolates have stopped calling a place. Only in memory: what was said before the object started is too old soon.
 */

/** What an isolate said longer ago does not count. */
const SAID_WITHIN_MS = 60_000;
const MAX_ISOLATES = 5_000;

interface Said {
  readonly atMs: number;
  readonly places: readonly string[];
}

export class OpenBreakers {
  /** The isolate that spoke last is at the end. */
  readonly #said = new Map<string, Said>();

  /** Replaces what the isolate said before. */
  report(isolate: string, places: readonly string[], atMs: number): void {
    this.#said.delete(isolate);
    if (places.length > 0) this.#said.set(isolate, { atMs, places });
    const [first] = this.#said.keys();
    if (this.#said.size > MAX_ISOLATES) this.#said.delete(first!);
  }

  /** Isolates by place. */
  byPlace(nowMs: number): Map<string, number> {
    const found = new Map<string, number>();
    for (const { atMs, places } of this.#said.values()) {
      if (nowMs - atMs >= SAID_WITHIN_MS) continue;
      for (const place of new Set(places)) found.set(place, (found.get(place) ?? 0) + 1);
    }
    return found;
  }
}
