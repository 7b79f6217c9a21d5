// Events as bytes, in the writes that a plan asks for.

import { mulberry32 } from "../mulberry32.ts";
import type { MockEvent } from "./answer.ts";
import type { MockPlan } from "./plan.ts";

/** A server-sent event as it is on the wire. */
export function eventBytes({ event, data }: MockEvent, { newline, comments }: MockPlan): Buffer {
  const lines = [
    ...(comments ? [": keep-alive", ""] : []),
    ...(event ? [`event: ${event}`] : []),
    `data: ${data}`,
    "",
    "",
  ];
  return Buffer.from(lines.join(newline));
}

/** The same bytes in pieces of other sizes, whatever they contain: characters and lines are split anywhere. */
export function* rechunk(pieces: Iterable<Buffer>, { chunk, seed }: MockPlan): Generator<Buffer> {
  if (chunk === "event") return yield* pieces;
  const next = mulberry32(seed);
  const sizeOf = () => (chunk === "random" ? 1 + Math.floor(next() * 40) : chunk);
  let [held, size] = [Buffer.alloc(0), sizeOf()];
  for (const piece of pieces) {
    held = Buffer.concat([held, piece]);
    let start = 0;
    for (; held.length - start >= size; size = sizeOf()) {
      yield held.subarray(start, start + size);
      start += size;
    }
    held = held.subarray(start);
  }
  if (held.length > 0) yield held;
}
