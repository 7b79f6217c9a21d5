/** The live document in one Redis: runs lua/live.lua over HTTP. */

import { LIVE_KEY } from "../core/layout.ts";
import type { RedisOptions } from "../redis/client.ts";
import { LIVE, LIVE_KEY_LOCKING } from "../redis/script.generated.ts";
import { scriptRunner } from "../redis/script.ts";
import type { LiveStorage } from "./live.ts";
import { StoreError } from "./store.ts";

/** @param fail turns what the client throws into a `StoreError`. */
export function redisLive(options: RedisOptions, fail: (error: unknown) => never): LiveStorage {
  const run = scriptRunner(options, { plain: LIVE, keyLocking: LIVE_KEY_LOCKING });

  /** The mark of the text that was read or written last. */
  let lastMark = "";

  async function call(...args: (string | number)[]): Promise<[version: number, mark?: unknown, text?: unknown]> {
    const reply = await run([LIVE_KEY], args).catch(fail);
    const [version, mark, text] = Array.isArray(reply) ? reply : [];
    if (!Number.isSafeInteger(version) || version < 0) throw new StoreError("MALFORMED_REPLY");
    return [version, mark, text];
  }

  return {
    async read(known) {
      const earlier = lastMark;
      const [version, mark, text] = await call(known ?? 0, known === undefined ? "" : earlier);
      lastMark = typeof mark === "string" ? mark : "";
      if (version === known && lastMark === earlier) return undefined;
      return { version, text: typeof text === "string" ? text : undefined };
    },
    async write(text, version) {
      const mark = crypto.randomUUID();
      const [written] = await call(version, mark, text);
      if (written === 0) return undefined;
      lastMark = mark;
      return written;
    },
  };
}
