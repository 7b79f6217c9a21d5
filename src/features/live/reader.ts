/**
 * Keeps an isolate's view of the live document up to date. The first requests wait for the document, so that no blocked
 * client slips in through a cold isolate. Afterwards it is read in the background of a request, now and then, behind
 * the request's own calls.
 */

import type { LiveReader, LiveReaderOptions } from "../../kernel/limiter/live.ts";
import { reportLines } from "../../kernel/lines.ts";
import { type Background, keepAlive } from "../../kernel/place/taker.ts";
import { LOCAL_TIMING, type Timing } from "../../kernel/place/timing.ts";
import { failureOf } from "../../kernel/store/failure.ts";
import type { LiveText } from "../../kernel/store/live.ts";
import { applyLive } from "./apply.ts";
import { EMPTY, readLive } from "./document.ts";
import { type LiveView, viewOf } from "./view.ts";

/** An interval is up to this part of a refresh shorter or longer: isolates must not all read at the same moment. */
const JITTER = 0.2;
/** A change is in force within a refresh and this time, in ms. */
const PROMISED_MS = 5_000;
/** An interval is at most this much longer than a refresh, in ms. The rest of `PROMISED_MS` is for a failed read. */
const MAX_JITTER_MS = 3_000;
/**
 * How long a read may take, and from the beginning of a read that failed to the beginning of the next one, in ms. No
 * request waits that long, but a document that comes late still counts.
 */
const RETRY_MS = 2_000;
/** The same after a failure while the document was never read: a blocked client gets through until then. */
const FIRST_RETRY_MS = 100;
/** How often a request looks whether another request has read the document, in ms. */
const POLL_MS = 4;

interface Options extends LiveReaderOptions {
  /** Writes a line about what was read, or could not be read. Default: a line on the console. */
  readonly report?: (event: LiveEvent) => void;
  readonly timing?: Timing;
}

/** What operators should know about the document. */
export interface LiveEvent {
  readonly event: "live" | "live-damaged" | "live-foreign" | "live-gone" | "live-unread" | "live-other-secret";
  readonly version: number;
  /** Whose document it is, if it is another's. */
  readonly owner?: string;
  /** Entries that name what the configuration does not have: the first of them, and how many more there are. */
  readonly ignored?: LiveView["unknown"]["first"];
  readonly moreIgnored?: number;
  /** Why the document could not be read (`StoreErrorCode`). */
  readonly failure?: string;
}

/** `foreign`: another deployment has written the document. */
export type LiveState = "good" | "damaged" | "gone" | "foreign";

declare module "../../kernel/limiter/live.ts" {
  interface LiveReader {
    /** The last good document. Undefined: none was ever read, and the configuration alone holds. */
    view(): LiveView | undefined;
    /** Reads the newest document now. @throws {StoreError} */
    refresh(): Promise<void>;
    /**
     * What the last read found. If the stored document is not `good`, `view` is an older one: what is stored is
     * damaged, gone, or was written by another deployment.
     */
    stored(): { readonly version: number; readonly state: LiveState; readonly owner?: string };
    /** As `LiveStorage.write`, in the namespace of this reader. */
    write(text: string, version: number): Promise<number | undefined>;
    readonly owner: string | undefined;
    /** The fingerprint of the key secret. */
    secret(): Promise<string>;
  }
}

export function createLiveReader(options: Options): LiveReader {
  const { storage, namespace = "", owner, policies, refreshMs, timeoutMs, secret, numbers } = options;
  const { report = reportLines(), timing = LOCAL_TIMING } = options;
  const jitterMs = Math.min(JITTER * refreshMs, MAX_JITTER_MS);
  const readMs = Math.max(RETRY_MS, timeoutMs);
  let view: LiveView | undefined;
  /** The version that was read last, good or damaged. Undefined: the document was never read. */
  let known: number | undefined;
  let state: LiveState = "good";
  /** Who has written the document that was read last. */
  let storedOwner: string | undefined;
  /** Reads are numbered as they begin: one that is late must not bring back what a later read has replaced. */
  let begun = 0;
  let ended = { read: 0, startedAtMs: Number.NEGATIVE_INFINITY };
  /** No read begins before this instant, whatever the store tells: one is under way, or has just failed. */
  let nextAtMs = Number.NEGATIVE_INFINITY;
  /** Until this instant the document counts as fresh, unless the store tells a newer version. */
  let dueAtMs = Number.NEGATIVE_INFINITY;
  /** Whether the read that began last has failed. */
  let hasFailed = false;
  /** When a request has waited in vain, or a read has failed. Undefined: a read has succeeded since. */
  let awayAtMs: number | undefined;
  let isReported = false;

  /** @throws {StoreError} */
  async function refresh(): Promise<void> {
    const read = ++begun;
    const atMs = timing.nowMs();
    // A read that is late does not keep a cold isolate from trying again.
    nextAtMs = atMs + (known === undefined ? Math.max(timeoutMs, FIRST_RETRY_MS) : readMs);
    hasFailed = false;
    try {
      const found = await storage.read(known, readMs, namespace);
      const fingerprint = found && (await secret());
      if (read < ended.read) return;
      ended = { read, startedAtMs: atMs };
      if (found) learn(found, fingerprint!);
      known ??= 0;
      dueAtMs = atMs + refreshMs + jitterMs * (2 * Math.random() - 1);
      if (read === begun) nextAtMs = Number.NEGATIVE_INFINITY;
      awayAtMs = undefined;
      isReported = false;
    } catch (error) {
      if (read === begun) {
        hasFailed = true;
        nextAtMs = atMs + (known === undefined ? FIRST_RETRY_MS : RETRY_MS);
      }
      throw error;
    }
  }

  /** Version and view change together, without a pause: a change of the document is built on both. */
  function learn({ version, text }: LiveText, fingerprint: string): void {
    known = version;
    const isNone = text === undefined && version === 0;
    const document = isNone ? EMPTY : readLive(text ?? "");
    // What operators have changed stays in force: it must not end by an accident in the store.
    storedOwner = document?.owner;
    if (!document) state = "damaged";
    else if (owner !== undefined && (storedOwner ?? owner) !== owner) state = "foreign";
    else state = isNone && view !== undefined && view.version > 0 ? "gone" : "good";
    if (state !== "good") {
      report({ event: `live-${state}`, version, ...(state === "foreign" && { owner: storedOwner! }) });
      return;
    }
    view = viewOf(version, document!, policies, fingerprint);
    if (isNone) return;
    const { first, more } = view.unknown;
    report({
      event: "live",
      version,
      ...(first.length > 0 && { ignored: first }),
      ...(more > 0 && { moreIgnored: more }),
    });
    if (view.hasOtherSecret) report({ event: "live-other-secret", version });
  }

  /** Reads the document in the background of a request. The promise never rejects. */
  function begin(background: Background | undefined): Promise<void> {
    const read = refresh().catch((error) => {
      awayAtMs = timing.nowMs();
      // One line for each outage of the store.
      if (!isReported) report({ event: "live-unread", version: view?.version ?? 0, failure: failureOf(error).code });
      isReported = true;
    });
    return keepAlive(read, background);
  }

  /** Whether nothing is known, or what is known may lack a change that must be in force by now. */
  function isBehind(nowMs: number): boolean {
    if (known === undefined) return true;
    const replied = storage.replied?.(namespace);
    const heardAtMs = Math.max(ended.startedAtMs, replied?.version === known ? replied.atMs : Number.NEGATIVE_INFINITY);
    return Math.abs(nowMs - heardAtMs) > refreshMs + PROMISED_MS;
  }

  /** Requests wait for no document while reads fail. A failure long ago says nothing: the store may be back. */
  function mustWait(nowMs: number): boolean {
    const isAway = awayAtMs !== undefined && Math.abs(nowMs - awayAtMs) <= PROMISED_MS;
    return !isAway && isBehind(nowMs);
  }

  /**
   * Waits for the document. On Workers no request can wait for what another one reads: it looks from time to time.
   *
   * @param own the read that this request has begun.
   */
  async function wait(sinceMs: number, own: Promise<void> | undefined, background: Background | undefined) {
    let read = own;
    while (isBehind(sinceMs) && !hasFailed) {
      const nowMs = timing.nowMs();
      const leftMs = timeoutMs - Math.abs(nowMs - sinceMs);
      if (leftMs <= 0) {
        awayAtMs = nowMs;
        return;
      }
      if (isStale(nowMs)) read = begin(background);
      await Promise.race([timing.sleep(Math.min(POLL_MS, leftMs)), ...(read ? [read] : [])]);
    }
  }

  /** False for an instant that is far away: the clock was set back. */
  const isBefore = (nowMs: number, atMs: number) => {
    return nowMs < atMs && atMs - nowMs <= Math.max(readMs, refreshMs + jitterMs);
  };

  function isStale(nowMs: number): boolean {
    if (isBefore(nowMs, nextAtMs)) return false;
    const replied = storage.replied?.(namespace);
    // A reply from before the last read says nothing new: its version may be the older one.
    const isNews = replied && replied.atMs >= ended.startedAtMs;
    if (isNews && known !== undefined && replied.version !== known) return true;
    if (isBefore(nowMs, dueAtMs)) return false;
    // What a reply has said needs no call.
    return known === undefined || !replied || !isBefore(nowMs, replied.atMs + refreshMs);
  }

  return {
    secret,
    view: () => view,
    apply: (applied, options) => applyLive(view, applied, timing.nowMs(), numbers, options),
    refresh,
    stored: () => ({ version: known ?? 0, state, ...(storedOwner !== undefined && { owner: storedOwner }) }),
    write: (text, version) => storage.write(text, version, namespace),
    owner,

    ready(background) {
      const nowMs = timing.nowMs();
      if (!mustWait(nowMs)) return undefined;
      return wait(nowMs, isStale(nowMs) ? begin(background) : undefined, background);
    },

    freshen(background) {
      if (isStale(timing.nowMs())) void begin(background);
    },
  };
}
