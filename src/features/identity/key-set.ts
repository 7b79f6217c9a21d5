/**
 * The public keys of an issuer, fetched when they are first needed and now and then after that. Requests share plain
 * data and no promises: on Workers a request may wait forever for what another request has begun.
 */

import type { CryptoKey, JSONWebKeySet, JWTVerifyGetKey } from "jose";
import { JWKSNoMatchingKey } from "jose/errors";
import { createLocalJWKSet } from "jose/jwks/local";
import { reportLines } from "../../kernel/lines.ts";
import { type Background, keepAlive } from "../../kernel/place/taker.ts";
import { LOCAL_TIMING, type Timing } from "../../kernel/place/timing.ts";

/** A key set of this age is fetched again, in the background of a request. */
const REFRESH_MS = 600_000;
/** For an older key set a request waits: keys may have been withdrawn. */
const OLDEST_MS = 2 * REFRESH_MS;
/** The least time between two fetches, also for keys that are not in the set: anybody can make up their names. */
const PAUSE_MS = 30_000;
/** The same while no key set was ever fetched. */
const FIRST_PAUSE_MS = 5_000;
/** How long a fetch may take. Requests wait only for a part of this time. */
export const FETCH_MS = 5_000;
/** A fetch that has not ended this many ms later has ended with its request. */
const GRACE_MS = 500;
/** How often a request looks whether another request has fetched the key set, in ms. */
const POLL_MS = 4;
/** Key sets have a few KiB; with chains of certificates up to 20. */
const MAX_BYTES = 131_072;

export interface KeySet {
  /** A change of the keys gives another number. */
  version(): number;
  /**
   * Begins a fetch if one is due.
   *
   * @param waitMs how long a request waits at most, in ms.
   * @returns a promise to wait for, which never rejects; undefined: go on at once.
   */
  ready(waitMs: number, background?: Background): Promise<void> | undefined;
  /** What finds the key of a token, for `jwtVerify`. It rejects with a `JWKSNoMatchingKey` if there is none. */
  finder(waitMs: number, background?: Background): JWTVerifyGetKey;
}

/** The parts that tests replace. */
export interface KeySetOptions {
  readonly timing?: Timing;
  /** Writes a line to the log. */
  readonly report?: (line: object) => void;
}

export function createKeySet(
  url: string,
  { timing = LOCAL_TIMING, report = reportLines() }: KeySetOptions = {},
): KeySet {
  let known: { readonly text: string; readonly document: JSONWebKeySet } | undefined;
  let version = 0;
  /** By algorithm and name of the key. */
  const imported = new Map<string, CryptoKey>();
  let fetchedAtMs = Number.NEGATIVE_INFINITY;
  /** Of the last fetch. */
  let begunAtMs = Number.NEGATIVE_INFINITY;
  let isUnderWay = false;
  let begun = 0;
  let hasFailed = false;

  /** Never rejects. */
  async function fetchKeys(): Promise<void> {
    const turn = ++begun;
    begunAtMs = timing.nowMs();
    isUnderWay = true;
    const atMs = begunAtMs;
    try {
      const text = await fetchText(url);
      if (text !== known?.text) {
        const document = keySetIn(text);
        known = { text, document };
        imported.clear();
        version++;
      }
      fetchedAtMs = atMs;
      hasFailed = false;
    } catch (error) {
      // One line for each outage.
      if (!hasFailed) report({ event: "key-set", jwks: url, failure: failureIn(error) });
      hasFailed = true;
    }
    if (turn === begun) isUnderWay = false;
  }

  /** Whether the last fetch goes on. With its request it may have ended without a word. */
  const isFetching = (nowMs: number) => isUnderWay && Math.abs(nowMs - begunAtMs) < FETCH_MS + GRACE_MS;

  /** Until the fetch of another request has ended, or `waitMs` after it has begun. */
  async function waitForOther(waitMs: number): Promise<void> {
    for (let nowMs = timing.nowMs(); isFetching(nowMs) && nowMs - begunAtMs < waitMs; nowMs = timing.nowMs()) {
      await timing.sleep(POLL_MS);
    }
  }

  function ready(waitMs: number, background?: Background, isKeyMissing = false): Promise<void> | undefined {
    const nowMs = timing.nowMs();
    const ageMs = Math.abs(nowMs - fetchedAtMs);
    const mustWait = isKeyMissing || ageMs > OLDEST_MS;
    if (isFetching(nowMs)) return mustWait ? waitForOther(waitMs) : undefined;
    const pauseMs = known ? PAUSE_MS : FIRST_PAUSE_MS;
    if (!(isKeyMissing || ageMs > REFRESH_MS) || Math.abs(nowMs - begunAtMs) < pauseMs) return undefined;
    const fetching = keepAlive(fetchKeys(), background);
    // Without a background the fetch ends with the request.
    return mustWait || !background ? Promise.race([fetching, timing.sleep(waitMs, true)]) : undefined;
  }

  const find: JWTVerifyGetKey = async (header, token) => {
    const name = JSON.stringify([header.alg, header.kid]);
    const key = imported.get(name);
    if (key) return key;
    if (!known) throw new JWKSNoMatchingKey();
    // Made for each look: while it imports a key it shares a promise.
    const { document } = known;
    const found = await createLocalJWKSet(document)(header, token);
    if (document === known.document) imported.set(name, found);
    return found;
  };

  return {
    version: () => version,
    ready: (waitMs, background) => ready(waitMs, background),
    finder: (waitMs, background) => async (header, token) => {
      try {
        return await find(header, token);
      } catch (error) {
        const newer = error instanceof JWKSNoMatchingKey ? ready(waitMs, background, true) : undefined;
        if (!newer) throw error;
        await newer;
        return await find(header, token);
      }
    },
  };
}

/** Why a key set could not be fetched, in words for the log. */
class FetchFailure extends Error {}

/** @throws {FetchFailure}, or what `fetch` throws. */
async function fetchText(url: string): Promise<string> {
  const ended = new AbortController();
  try {
    const response = await fetch(url, {
      // Another place than the configured one could be anybody's.
      redirect: "manual",
      headers: { Accept: "application/jwk-set+json, application/json" },
      signal: AbortSignal.any([ended.signal, AbortSignal.timeout(FETCH_MS)]),
    });
    if (response.status !== 200) throw new FetchFailure(`status ${response.status}`);
    let text = "";
    let bytes = 0;
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) {
      bytes += chunk.length;
      if (bytes > MAX_BYTES) throw new FetchFailure(`more than ${MAX_BYTES} bytes`);
      text += decoder.decode(chunk, { stream: true });
    }
    return text + decoder.decode();
  } finally {
    ended.abort();
  }
}

/** @throws {FetchFailure} */
function keySetIn(text: string): JSONWebKeySet {
  try {
    const document = JSON.parse(text) as JSONWebKeySet;
    createLocalJWKSet(document);
    return document;
  } catch {
    throw new FetchFailure("no key set");
  }
}

function failureIn(error: unknown): string {
  if (error instanceof FetchFailure) return error.message;
  return (error as Error).name === "TimeoutError" ? `no answer within ${FETCH_MS} ms` : "no connection";
}
