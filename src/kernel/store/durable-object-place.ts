/** One Durable Object as a store: asks src/kernel/store/durable-object.ts by RPC. */

import type { CountsNamespace, LocationHint } from "../config/counts.ts";
import { namespaceOf } from "../core/layout.ts";
import { replyOf, type TakeRequest } from "../core/take.ts";
import { createThrown } from "../lines.ts";
import type { LiveStorage, LiveText, ReplyWithVersion } from "./live.ts";
import { isRejected, type Rejected } from "./rejected.ts";
import { type Store, StoreError } from "./store.ts";

/** The name of the first object. It must never change: another name is another object, which starts at zero. */
const COUNTS_NAME = "headgate:counts";
/**
 * An object that is never called: only its id is used. Cloudflare makes the id from a secret of the namespace, and
 * everybody who shares the namespace makes the same.
 */
const KEY_NAME = "headgate:key";

/** What the object offers. A stub has the methods of its object, and all of them return promises. */
interface CountsStub extends Pick<Store, "ping"> {
  take(request: TakeRequest, nowMs?: number): Promise<ReplyWithVersion | Rejected>;
  reset(keys: readonly string[]): Promise<undefined | Rejected>;
  readLive(known: number | undefined, namespace: string): Promise<LiveText | undefined | Rejected>;
  writeLive(text: string, version: number, namespace: string): Promise<number | undefined | Rejected>;
}

/** The name of one of several objects. With one object it has the first name: the counts stay if more are added. */
export function shardName(shard: number): string {
  return shard === 0 ? COUNTS_NAME : `${COUNTS_NAME}:${shard}`;
}

/**
 * Every decision is one call of one object, which reads its own clock.
 *
 * No I/O until the first take: may be called at module scope.
 *
 * @param location where Cloudflare is to place the object when it is called for the first time. @param shard the number
 * of the object, 0 or more.
 */
export function durableObjectPlace(namespace: CountsNamespace, location?: LocationHint, shard = 0): Store {
  // While a deploy goes on, an older object rejects every request of a policy.
  const writeRejected = createThrown("the object rejected a request", 1);

  async function call<T>(work: (counts: CountsStub) => Promise<T | Rejected>): Promise<T> {
    let answer: T | Rejected;
    try {
      const id = namespace.idFromName(shardName(shard));
      // A stub is of no use after an exception: every call gets its own.
      answer = await work(namespace.get(id, location && { locationHint: location }) as CountsStub);
    } catch (error) {
      throw storeErrorOf(error);
    }
    if (!isRejected(answer)) return answer;
    writeRejected(answer.rejected);
    throw new StoreError("REJECTED");
  }

  /** The version in the last reply, by namespace. */
  const replied = new Map<string, ReturnType<NonNullable<LiveStorage["replied"]>>>();

  return {
    kind: "durable-object",
    keySecret: namespace.idFromName(KEY_NAME).toString(),
    async take(request, nowMs) {
      const { live, nowMs: atMs, keys } = await call((counts) => counts.take(request, nowMs));
      const [first] = request.keys;
      if (first) replied.set(namespaceOf(first.key), { version: live, atMs: Date.now() });
      if (keys?.length !== request.keys.length) throw new StoreError("MALFORMED_REPLY");
      return replyOf(request, atMs, keys);
    },
    reset: (keys) => call((counts) => counts.reset(keys)),
    ping: () => call((counts) => counts.ping()),
    // The counts are spread over the objects; the document lies in the first.
    ...(shard === 0 && {
      live: {
        replied: (namespace = "") => replied.get(namespace),
        read: (known, _budgetMs, namespace = "") => call((counts) => counts.readLive(known, namespace)),
        write: (text, version, namespace = "") => call((counts) => counts.writeLive(text, version, namespace)),
      } satisfies LiveStorage,
    }),
  };
}

/**
 * The error's text goes no further: it may quote what was sent. `overloaded` means that the call was still queued
 * before the object (Cloudflare, 2026-11). With `remote` it comes from within: the object ran out of memory or time,
 * perhaps after a charge.
 */
function storeErrorOf(error: unknown): StoreError {
  const { message, overloaded, remote } = (error ?? {}) as { message?: string; overloaded?: true; remote?: true };
  // Cloudflare's error for a request that has made all the calls it may make. This call was not sent.
  if (/^too many subrequests/i.test(message ?? "")) return new StoreError("SUBREQUESTS");
  return new StoreError(overloaded && !remote ? "OVERLOADED" : "NETWORK");
}
