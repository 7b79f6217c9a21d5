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
  readonly run: () => void;
}

/** After this many events, the rest of the process gets a turn. */
const EVENTS_PER_TURN = 1_000;

/** Promises settle before the next tick, however deeply they are nested. */
const nextTick = () => new Promise<void>((resolve) => process.nextTick(resolve));
const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** @param settle waits until every promise that can settle has settled. @param rest gives others a turn. */
export function virtualTime(startMs: number, settle = nextTick, rest = nextTurn): VirtualTime {
  // Events of one instant run in the order in which they were made.
  const queue: Event[] = [];
  let now = startMs;

  const at = (atMs: number, run: () => void) => insert(queue, { atMs: Math.max(now, atMs), run });

  return {
    nowMs: () => now,
    sleep: (ms) => new Promise((resolve) => at(now + ms, resolve)),
    at,
    async runUntil(atMs) {
      let ran = 0;
      while (queue.length > 0 && queue.at(-1)!.atMs <= atMs) {
        const event = queue.pop()!;
        now = event.atMs;
        event.run();
        await settle();
        if (++ran % EVENTS_PER_TURN === 0) await rest();
      }
      now = Math.max(now, atMs);
    },
  };
}

/** Puts an event into the queue, whose next event is the last. */
function insert(queue: Event[], event: Event): void {
  let [from, to] = [0, queue.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (queue[middle]!.atMs > event.atMs) from = middle + 1;
    else to = middle;
  }
  queue.splice(from, 0, event);
}
