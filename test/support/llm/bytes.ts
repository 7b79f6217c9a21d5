// Events as bytes, in the writes that a plan asks for.

import type { MockEvent } from "./answer.ts";
import type { MockPlan } from "./plan.ts";

/** A server-sent event as it is on the wire. */
export function eventBytes({ event, data }: MockEvent, { newline }: MockPlan): Buffer {
  return Buffer.from([...(event ? [`event: ${event}`] : []), `data: ${data}`, "", ""].join(newline));
}

/** The same bytes in pieces of other sizes, whatever they contain: characters and lines are split anywhere. */
export function* rechunk(pieces: Iterable<Buffer>, { chunk: size }: MockPlan): Generator<Buffer> {
  if (size === "event") return yield* pieces;
  let held = Buffer.alloc(0);
  for (const piece of pieces) {
    held = Buffer.concat([held, piece]);
    let start = 0;
    for (; held.length - start >= size; start += size) yield held.subarray(start, start + size);
    held = held.subarray(start);
  }
  if (held.length > 0) yield held;
}
