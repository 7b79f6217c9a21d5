/** A clock that stands still while code runs, and jumps to the next event. */

export interface VirtualTime {
  /** Milliseconds since the epoch, with fractions. */
  nowMs(): number;
  sleep(ms: number): Promise<void>;
  /** Calls `event` at an instant. */
  at(atMs: number, event: () => void): void;
  /** Runs every event up to an instant. Each event runs after everything that the event before it has set off. */
  runUntil(atMs: number): Promise<void>;
}

interface Event {
  readonly atMs: number;
  /** Events of one instant run in the order in which they were made. */
  readonly order: number;
  readonly run: () => void;
}

/** After this many events, the rest of the process gets a turn. */
const EVENTS_PER_TURN = 1_000;

/** Promises settle before the next tick, however deeply they are nested. */
const nextTick = () => new Promise<void>((resolve) => process.nextTick(resolve));
const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** @param settle waits until every promise that can settle has settled. @param rest gives others a turn. */
export function virtualTime(startMs: number, settle = nextTick, rest = nextTurn): VirtualTime {
  const heap: Event[] = [];
  let now = startMs;
  let made = 0;

  const at = (atMs: number, run: () => void) => push(heap, { atMs: Math.max(now, atMs), order: made++, run });

  return {
    nowMs: () => now,
    sleep: (ms) => new Promise((resolve) => at(now + ms, resolve)),
    at,
    async runUntil(atMs) {
      let ran = 0;
      while (heap.length > 0 && heap[0]!.atMs <= atMs) {
        const event = pop(heap);
        now = event.atMs;
        event.run();
        await settle();
        if (++ran % EVENTS_PER_TURN === 0) await rest();
      }
      now = Math.max(now, atMs);
    },
  };
}

const isBefore = (a: Event, b: Event) => a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);

function push(heap: Event[], event: Event): void {
  let at = heap.push(event) - 1;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    if (!isBefore(event, heap[parent]!)) break;
    heap[at] = heap[parent]!;
    at = parent;
  }
  heap[at] = event;
}

function pop(heap: Event[]): Event {
  const first = heap[0]!;
  const last = heap.pop()!;
  if (heap.length === 0) return first;
  let at = 0;
  for (;;) {
    const left = 2 * at + 1;
    if (left >= heap.length) break;
    const right = left + 1;
    const child = right < heap.length && isBefore(heap[right]!, heap[left]!) ? right : left;
    if (!isBefore(heap[child]!, last)) break;
    heap[at] = heap[child]!;
    at = child;
  }
  heap[at] = last;
  return first;
}
