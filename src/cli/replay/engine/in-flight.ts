/** What will happen at an instant of the log: slots that are renewed and released. */

/** This many events take about 100 MiB. */
const MAX_IN_FLIGHT = 500_000;

/** How often the gateway renews a slot with this timeout, in ms. */
export function renewedEveryMs(timeoutMs: number): number {
  return Math.max(1, Math.floor(timeoutMs / 2));
}

interface Event<T> {
  readonly atMs: number;
  /** Events of one instant happen in the order in which they were added. */
  readonly order: number;
  readonly what: T;
}

/** A binary heap by instants. */
export class InFlight<T> {
  readonly #heap: Event<T>[] = [];
  #order = 0;

  /** Whether no more fit. The earliest must end first. */
  get isFull(): boolean {
    return this.#heap.length >= MAX_IN_FLIGHT;
  }

  add(atMs: number, what: T): void {
    const event = { atMs, order: this.#order++, what };
    const heap = this.#heap;
    let at = heap.length;
    heap.push(event);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(event, heap[parent]!)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = event;
  }

  /** Removes the earliest event if it happens until this instant. */
  next(nowMs: number): Event<T> | undefined {
    const heap = this.#heap;
    const first = heap[0];
    if (!first || first.atMs > nowMs) return undefined;
    const last = heap.pop()!;
    if (heap.length > 0) this.#sink(last);
    return first;
  }

  #sink(event: Event<T>): void {
    const heap = this.#heap;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
      if (!isBefore(heap[child]!, event)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = event;
  }
}

function isBefore<T>(one: Event<T>, other: Event<T>): boolean {
  return one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order);
}
