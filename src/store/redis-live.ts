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

  async function call(...args: (string | number)[]): Promise<[version: number, text: string | undefined]> {
    const reply = await run([LIVE_KEY], args).catch(fail);
    const [version, text] = Array.isArray(reply) ? reply : [];
    if (!Number.isSafeInteger(version) || version < 0) throw new StoreError("MALFORMED_REPLY");
    return [version, typeof text === "string" ? text : undefined];
  }

  return {
    async read(known) {
      const [version, text] = await call(known ?? 0);
      return version === known ? undefined : { version, text };
    },
    async write(text, version) {
      const [written] = await call(version, text);
      return written || undefined;
    },
  };
}
