/** The live document in one Redis: runs lua/live.lua over HTTP. */

import { EARLIER_LIVE_KEYS, LIVE_KEY } from "../core/layout.ts";
import { type RedisOptions, withRedis } from "../redis/client.ts";
import { LIVE, LIVE_KEY_LOCKING } from "../redis/script.generated.ts";
import { scriptRunner } from "../redis/script.ts";
import type { LiveStorage, LiveText } from "./live.ts";
import { StoreError } from "./store.ts";

/** Turns what the client throws into a `StoreError`. `decode` reads a late reply. */
type Fail = (error: unknown, decode?: (reply: unknown) => unknown) => never;

export function redisLive(options: RedisOptions, fail: Fail): LiveStorage {
  const run = scriptRunner(options, { plain: LIVE, keyLocking: LIVE_KEY_LOCKING });

  function at(key: string): Required<Pick<LiveStorage, "read" | "write" | "leave">> {
    /** The mark of the text that was read or written last. */
    let lastMark = "";
    return {
      async read(known) {
        const earlier = lastMark;
        const decode = (reply: unknown): LiveText | undefined => {
          const [version, mark, text, moved] = decodeReply(reply);
          lastMark = typeof mark === "string" ? mark : "";
          if (version === known && lastMark === earlier) return undefined;
          return { version, text: typeof text === "string" ? text : undefined, ...(moved === 1 && { moved: true }) };
        };
        const asked = run([key], [known ?? 0, known === undefined ? "" : earlier]);
        return decode(await asked.catch((error) => fail(error, decode)));
      },
      async write(text, version, next = version + 1) {
        const mark = crypto.randomUUID();
        const [written] = decodeReply(await run([key], [version, mark, text, next]).catch((error) => fail(error)));
        if (written === 0) return undefined;
        lastMark = mark;
        return written;
      },
      async leave() {
        await withRedis(options, (redis) => redis.hset(key, { moved: 1 })).catch((error) => fail(error));
      },
    };
  }

  return { ...at(LIVE_KEY), elsewhere: EARLIER_LIVE_KEYS.map((key) => ({ place: key, ...at(key) })) };
}

function decodeReply(reply: unknown): [version: number, mark?: unknown, text?: unknown, moved?: unknown] {
  const [version, mark, text, moved] = Array.isArray(reply) ? reply : [];
  if (!Number.isSafeInteger(version) || version < 0) throw new StoreError("MALFORMED_REPLY");
  return [version, mark, text, moved];
}
