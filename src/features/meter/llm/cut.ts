/** `onExceeded: "cut"`: charges a stream while it passes, and says when it must end. */

import { cutEvent } from "./errors.ts";
import type { Format } from "./format.ts";
import type { AnswerScanner } from "./scanner.ts";
import type { Prices } from "./units.ts";
import type { Usage } from "./usage.ts";

/**
 * Sends a chunk of a stream on event by event, and charges what the stream uses beyond its reservation. The stream
 * pauses while more is charged.
 *
 * @param isOver whether the stream has ended meanwhile.
 * @returns whether the stream may go on.
 */
export type Cut = (chunk: Uint8Array, send: (bytes: Uint8Array) => void, isOver: () => boolean) => Promise<boolean>;

const MESSAGE = "The limit of this client is used up: the stream ends here.";

/** What is charged at once. If one event has used more, more is charged. */
const STEP: Usage = { inputTokens: 0, cachedInputTokens: 0, outputTokens: 256 };

/**
 * A stream is over what is charged by at most the tokens of its last event: clients get whole events only, and the
 * stream can pause after each. Providers send one or a few tokens in an event.
 *
 * @param prices those of the policies that cut.
 */
export function createCut(
  scanner: AnswerScanner,
  format: Format | undefined,
  reservation: {
    readonly reserved: Readonly<Record<string, number>>;
    extend(more: Readonly<Record<string, number>>): Promise<{ readonly allowed: boolean }>;
  },
  prices: Prices,
): Cut {
  const charged: Record<string, number> = { ...reservation.reserved };
  /** What is still to be charged, by policy. Undefined: nothing. */
  function missing(): Record<string, number> | undefined {
    const used = scanner.streamed();
    if (!used) return undefined;
    let more: Record<string, number> | undefined;
    for (const [name, unitsOf] of prices) {
      const units = unitsOf(used) - charged[name]!;
      if (units > 0) more = { ...more, [name]: Math.max(units, unitsOf(STEP)) };
    }
    return more;
  }
  /** @returns whether the stream may go on. */
  async function charge(more: Record<string, number>): Promise<boolean> {
    const { allowed } = await reservation.extend(more);
    for (const [name, units] of Object.entries(more)) charged[name]! += units;
    return allowed;
  }

  return async (chunk, send, isOver) => {
    let sent = 0;
    for (let at = 0; at < chunk.length; ) {
      at = scanner.push(chunk, at, true);
      const more = scanner.isBetweenEvents() ? missing() : undefined;
      if (!more) continue;
      send(chunk.subarray(sent, at));
      sent = at;
      const mayGoOn = await charge(more);
      if (isOver()) return false;
      if (!mayGoOn) {
        send(cutEvent(format, scanner.framing, MESSAGE));
        return false;
      }
    }
    // A stream asks for the next chunk only after it has got one. An empty chunk is enough.
    if (sent < chunk.length || chunk.length === 0) send(chunk.subarray(sent));
    return true;
  };
}
