/**
 * Keeps an isolate's view of the live document up to date. The first requests wait for the document, so that no blocked
 * client slips in through a cold isolate. Afterwards it is read in the background of a request, now and then.
 */

import type { Policy } from "../../core/policy.ts";
import { type Background, keepAlive } from "../../isolate/reply-source.ts";
import { LOCAL_TIMING, type Timing } from "../../isolate/timing.ts";
import { createLines } from "../../lines.ts";
import { failureOf, lateTextOf } from "../../store/failure.ts";
import type { LiveStorage, LiveText } from "../../store/live.ts";
import { type AppliedLive, type ApplyOptions, applyLive, type NamedPolicy, type WithNumbers } from "./apply.ts";
import { EMPTY, isNewerFormat, readLive } from "./document.ts";
import { isHere, type Searched, searchElsewhere } from "./search.ts";
import { type LiveView, viewOf } from "./view.ts";

/** An interval is up to this part of a refresh shorter or longer: isolates must not all read at the same moment. */
const JITTER = 0.2;
/** A change is in force within a refresh and this time, in ms. */
const PROMISED_MS = 5_000;
/** An interval is at most this much longer than a refresh, in ms. The rest of `PROMISED_MS` is for a failed read. */
const MAX_JITTER_MS = 3_000;
/** The time from the beginning of a read that failed, or never ended, to the beginning of the next one, in ms. */
const RETRY_MS = 2_000;
/** The same while the document's own place has never answered: a blocked client gets through until then. */
const FIRST_RETRY_MS = 100;
/**
 * A read ends within the time budget. If it has not ended this many ms later, its request has ended, and the read too.
 */
const GRACE_MS = 500;
/** How often a request looks whether another request has read the document, in ms. */
const POLL_MS = 4;

export interface LiveReaderOptions {
  readonly storage: LiveStorage;
  readonly policies: readonly Policy[];
  /** How often to look for a newer document, in ms. */
  readonly refreshMs: number;
  /** How long requests wait for the document at most, in ms. */
  readonly timeoutMs: number;
  /** The fingerprint of the key secret. */
  readonly secret: () => Promise<string>;
  readonly numbers: WithNumbers;
  /** Writes a line about what was read, or could not be read. Default: a line on the console. */
  readonly report?: (event: LiveEvent) => void;
  readonly timing?: Timing;
}

/** What operators should know about the document. */
export interface LiveEvent {
  readonly event:
    | "live"
    | "live-moved"
    | "live-left"
    | "live-damaged"
    | "live-newer"
    | "live-gone"
    | "live-unread"
    | "live-other-secret";
  readonly version: number;
  /** Entries that name what the configuration does not have: the first of them, and how many more there are. */
  readonly ignored?: LiveView["unknown"]["first"];
  readonly moreIgnored?: number;
  /** Why the document could not be read (`StoreErrorCode`). */
  readonly failure?: string;
  /** Where a document lay that has moved. */
  readonly from?: string;
  /** Documents in other places, which are not in force. */
  readonly others?: Searched["others"];
}

export type LiveState = "good" | "damaged" | "gone" | "newer";

export interface LiveReader {
  /**
   * Starts a read if there may be a newer version.
   *
   * @returns a promise to wait for, which never rejects; undefined: go on at once.
   */
  ready(background: Background | undefined): Promise<void> | undefined;
  /** The last good document. Undefined: none was ever read, and the configuration alone holds. */
  view(): LiveView | undefined;
  /** What the document makes of a request. */
  apply(applied: readonly NamedPolicy[], options?: ApplyOptions): AppliedLive;
  /** Reads the newest document now. @throws {StoreError} */
  refresh(): Promise<void>;
  /**
   * What the last read found. If the stored document is not `good`, `view` is an older one: what is stored is damaged,
   * is gone, or was written by a newer version of this program.
   */
  stored(): { readonly version: number; readonly state: LiveState };
  readonly storage: LiveStorage;
  /** The fingerprint of the key secret. */
  secret(): Promise<string>;
}

export function createLiveReader(options: LiveReaderOptions): LiveReader {
  const {
    storage,
    policies,
    refreshMs,
    timeoutMs,
    secret,
    numbers,
    report = reportLive(),
    timing = LOCAL_TIMING,
  } = options;
  let view: LiveView | undefined;
  /** The version that was read last, good or damaged. Undefined: the document was never read. */
  let known: number | undefined;
  let state: LiveState = "good";
  /** No read begins before this instant. */
  let dueAtMs = Number.NEGATIVE_INFINITY;
  /** When the present read has begun. Undefined: none is under way. */
  let startedAtMs: number | undefined;
  /** Reads are numbered as they begin: one that is late must not bring back what a later read has replaced. */
  let begun = 0;
  let ended = { read: 0, startedAtMs: Number.NEGATIVE_INFINITY };
  /** When the last read has failed. Undefined: it has succeeded. */
  let failedAtMs: number | undefined;
  /** Until a read has succeeded, no further one begins before this instant, whatever the store tells. */
  let retryAtMs = Number.NEGATIVE_INFINITY;
  /** The last read whose time is up, and whose answer may still come. */
  let lateRead: number | undefined;
  /** The document was found, or looked for in all places: from now on it is read from its own place only. */
  let isSearched = false;
  const jitterMs = Math.min(JITTER * refreshMs, MAX_JITTER_MS);

  /** @param onLate gets the work of learning from an answer that comes too late. It never rejects. */
  async function refresh(onLate?: (work: Promise<void>) => void): Promise<void> {
    const read = ++begun;
    const atMs = timing.nowMs();
    startedAtMs = atMs;
    retryAtMs = atMs + (known === undefined ? FIRST_RETRY_MS : RETRY_MS);
    try {
      const found = await storage.read(known).catch((error) => {
        const late = lateTextOf(error);
        const work = late && learnLate(read, atMs, late);
        if (work) onLate?.(work);
        throw error;
      });
      await accept(read, atMs, found);
    } finally {
      if (read === begun) startedAtMs = undefined;
    }
  }

  async function learnLate(read: number, atMs: number, late: Promise<LiveText | undefined>): Promise<void> {
    lateRead = read;
    const found = await late;
    // If places that must be searched do not answer, the next read will tell.
    if (found) await accept(read, atMs, found).catch(() => {});
    if (lateRead === read) lateRead = undefined;
  }

  async function accept(read: number, atMs: number, found: LiveText | undefined): Promise<void> {
    const live = found && (await searched(found, atMs));
    const fingerprint = live && (await secret());
    if (read < ended.read) return;
    ended = { read, startedAtMs: atMs };
    if (live) learn(live, fingerprint!);
    known ??= 0;
    dueAtMs = atMs + refreshMs + jitterMs * (2 * Math.random() - 1);
    retryAtMs = Number.NEGATIVE_INFINITY;
    failedAtMs = undefined;
  }

  /** What was found, or what lies elsewhere. Other places are only searched until all of them have answered once. */
  async function searched(found: LiveText, atMs: number): Promise<LiveText> {
    if (!isSearched && !isHere(found)) {
      // If one of them is away, all are asked again: not at once, because there may be many.
      retryAtMs = atMs + RETRY_MS;
      const { live, from, others } = await searchElsewhere(storage, found);
      const more = others.length > 0 && { others };
      if (from !== undefined) report({ event: "live-moved", version: live.version, from, ...more });
      else if (live.moved || more) report({ event: "live-left", version: live.version, ...more });
      isSearched = true;
      return live;
    }
    isSearched = true;
    return found;
  }

  /** Version and view change together, without a pause: a change of the document is built on both. */
  function learn({ version, text }: LiveText, fingerprint: string): void {
    known = version;
    const isNone = text === undefined && version === 0;
    const document = isNone ? EMPTY : readLive(text ?? "");
    // What operators have changed stays in force: it must not end by an accident in the store.
    if (!document) state = isNewerFormat(text ?? "") ? "newer" : "damaged";
    else state = isNone && view !== undefined && view.version > 0 ? "gone" : "good";
    if (state !== "good") {
      report({ event: `live-${state}`, version });
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

  /** Reads the document in the background of a request. The promise ends with the read's time, and never rejects. */
  function begin(background: Background | undefined): Promise<void> {
    let late: Promise<void> | undefined;
    const ended = attempt((work) => {
      late = work;
    });
    // A late answer belongs to the request that has asked: the runtime must keep that request alive for it.
    keepAlive(
      ended.then(() => late),
      background,
    );
    return ended;
  }

  async function attempt(onLate: (work: Promise<void>) => void): Promise<void> {
    try {
      await refresh(onLate);
    } catch (error) {
      // One line for each outage of the store.
      if (failedAtMs === undefined) {
        report({ event: "live-unread", version: view?.version ?? 0, failure: failureOf(error).code });
      }
      failedAtMs = timing.nowMs();
    }
  }

  /** Requests wait for no document while reads fail. A failure long ago says nothing: the store may be back. */
  function mustWait(nowMs: number): boolean {
    const isAway = failedAtMs !== undefined && Math.abs(nowMs - failedAtMs) <= PROMISED_MS;
    return !isAway && isBehind(nowMs);
  }

  /** Whether nothing is known, or what is known may lack a change that must be in force by now. */
  function isBehind(nowMs: number): boolean {
    if (known === undefined) return true;
    const replied = storage.replied?.();
    const heardAtMs = Math.max(ended.startedAtMs, replied?.version === known ? replied.atMs : Number.NEGATIVE_INFINITY);
    return Math.abs(nowMs - heardAtMs) > refreshMs + PROMISED_MS;
  }

  /**
   * Waits while another request reads the document, and looks for the result from time to time. When that read is late,
   * this request reads too.
   */
  async function waitForOther(sinceMs: number, background: Background | undefined): Promise<void> {
    while (isBehind(sinceMs)) {
      const nowMs = timing.nowMs();
      if (Math.abs(nowMs - sinceMs) >= timeoutMs) return;
      if (startedAtMs === undefined) {
        if (lateRead === undefined) return;
        if (isStale(nowMs)) void begin(background);
      }
      await timing.sleep(POLL_MS);
    }
  }

  /** False for an instant that is far away: the clock was set back. */
  const isBefore = (nowMs: number, atMs: number) => {
    return nowMs < atMs && atMs - nowMs <= Math.max(RETRY_MS, refreshMs + jitterMs);
  };

  function isStale(nowMs: number): boolean {
    if (isBefore(nowMs, retryAtMs)) return false;
    const replied = storage.replied?.();
    // A reply from before the last read says nothing new: its version may be the older one.
    const isNews = replied && replied.atMs >= ended.startedAtMs;
    if (isNews && known !== undefined && replied.version !== known) return true;
    if (isBefore(nowMs, dueAtMs)) return false;
    // What a reply has said needs no call.
    return known === undefined || !replied || !isBefore(nowMs, replied.atMs + refreshMs);
  }

  return {
    storage,
    secret,
    view: () => view,
    apply: (applied, options) => applyLive(view, applied, timing.nowMs(), numbers, options),
    refresh: () => refresh(),
    stored: () => ({ version: known ?? 0, state }),

    ready(background) {
      const nowMs = timing.nowMs();
      // A read whose request has ended may never end.
      if (startedAtMs !== undefined && Math.abs(nowMs - startedAtMs) < timeoutMs + GRACE_MS) {
        return mustWait(nowMs) ? waitForOther(nowMs, background) : undefined;
      }
      if (!isStale(nowMs)) return undefined;
      const isWaiting = mustWait(nowMs);
      const read = begin(background);
      return isWaiting ? Promise.race([read, timing.sleep(timeoutMs)]) : undefined;
    },
  };
}

function reportLive(): (event: LiveEvent) => void {
  const write = createLines();
  return (event) => write(() => ({ ...event, at: new Date().toISOString() }));
}
