/** `onExceeded: "cut"`: charges a stream while it passes, and says when it must end. */

import { cutEvent } from "./errors.ts";
import type { Format } from "./format.ts";
import type { AnswerScanner } from "./scanner.ts";
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

/** How many tokens of output are charged at once. If one event has used more, more are charged. */
const CHARGED_TOKENS = 256;

/**
 * A stream is over what is charged by at most the tokens of its last event: clients get whole events only, and the
 * stream can pause after each. Providers send one or a few tokens in an event.
 *
 * @param names the policies that cut.
 * @param unitsOf the units of a policy for a usage.
 */
export function createCut(
  scanner: AnswerScanner,
  format: Format | undefined,
  reservation: {
    readonly reserved: Readonly<Record<string, number>>;
    extend(more: Readonly<Record<string, number>>): Promise<{ readonly allowed: boolean }>;
  },
  names: readonly string[],
  unitsOf: (name: string, usage: Usage) => number,
): Cut {
  const charged: Record<string, number> = { ...reservation.reserved };
  const missing = () => {
    const used = scanner.streamed();
    return names.flatMap((name) => {
      const units = used ? unitsOf(name, used) - charged[name]! : 0;
      return units > 0 ? [{ name, units }] : [];
    });
  };
  /** @returns whether the stream may go on. */
  async function charge(units: ReturnType<typeof missing>): Promise<boolean> {
    const step = { inputTokens: 0, cachedInputTokens: 0, outputTokens: CHARGED_TOKENS };
    const more = Object.fromEntries(units.map(({ name, units }) => [name, Math.max(units, unitsOf(name, step))]));
    const { allowed } = await reservation.extend(more);
    if (allowed) for (const [name, units] of Object.entries(more)) charged[name]! += units;
    return allowed;
  }

  return async (chunk, send, isOver) => {
    let sent = 0;
    for (let at = 0; at < chunk.length; ) {
      at = scanner.push(chunk, at, true);
      const units = scanner.isBetweenEvents() ? missing() : [];
      if (units.length === 0) continue;
      send(chunk.subarray(sent, at));
      sent = at;
      const mayGoOn = await charge(units);
      if (isOver()) return false;
      if (!mayGoOn) {
        send(cutEvent(format, MESSAGE));
        return false;
      }
    }
    // A stream asks for the next chunk only after it has got one. An empty chunk is enough.
    if (sent < chunk.length || chunk.length === 0) send(chunk.subarray(sent));
    return true;
  };
}
