/** The limiter of the gateway, over a memory store, on the clock of a log. */

import { createHash } from "node:crypto";
import { settleByStatus } from "../../../features/count/count.ts";
import { partsWith } from "../../../features/default.ts";
import { allFeatures } from "../../../features/index.ts";
import type { Decision, Hold } from "../../../kernel/core/decision.ts";
import type { Policy } from "../../../kernel/core/policy.ts";
import { limiterOf } from "../../../kernel/limiter/run.ts";
import type { Take } from "../../../kernel/limiter/types.ts";
import { type ClientKey, partitionText } from "../../../kernel/request/hash.ts";
import { createCounts } from "../../../kernel/store/memory.ts";
import type { LoggedRequest } from "../log/format.ts";

/** Longer keys are hashed: the store and the counts keep many of them. */
const LONGEST_KEY = 64;

/** The key with one value: the text that stands for it in the store. */
export function storedKey(key: ClientKey): ClientKey {
  const text = partitionText(key);
  const isLong = text.length > LONGEST_KEY;
  return { kind: key.kind, values: [isLong ? createHash("sha256").update(text).digest("base64url") : text] };
}

/**
 * The clock of a log, which all limiters of a replay share: it stands still between two requests, and jumps to what is
 * due before the next.
 */
export class LogClock {
  nowMs = 0;
  /** Keys that stores on this clock forgot while they may have had counts. */
  forgotten = 0;
  /** By instant. */
  readonly #due: { readonly atMs: number; readonly work: () => Promise<unknown> }[] = [];

  at(atMs: number, work: () => Promise<unknown>): void {
    const after = this.#due.findLastIndex((one) => one.atMs <= atMs);
    this.#due.splice(after + 1, 0, { atMs, work });
  }

  /** Lets everything happen that is due until then. Instants never fall. */
  async runUntil(atMs: number): Promise<void> {
    for (let next = this.#due[0]; next && next.atMs <= atMs; next = this.#due[0]) {
      this.#due.shift();
      this.nowMs = next.atMs;
      await next.work();
    }
    this.nowMs = atMs;
  }
}

/** A ban begins by a report in real time. */
const FEATURES = allFeatures().filter(({ name }) => name !== "ban");

export class LogLimiter {
  /** Admitted requests that hold a slot until its timeout, because the log does not tell how long they took. */
  untimed = 0;
  readonly #clock: LogClock;
  readonly #limiter: ReturnType<typeof limiterOf>;
  readonly #hasCount: boolean;
  /** The longest time that any key has kept counts, in ms. */
  #longestMs: number;
  #forgotAtMs = 0;

  /** @param maxKeys as for `memoryStore`. */
  constructor(policies: readonly Policy[], clock: LogClock, maxKeys: number) {
    this.#clock = clock;
    this.#hasCount = policies.some(({ count }) => count);
    this.#longestMs = Math.max(0, ...policies.map(({ once }) => once?.forMs ?? 0));
    const counts = createCounts(maxKeys, (keys) => {
      // They were used before the last time that keys were forgotten.
      if (clock.nowMs - this.#forgotAtMs < this.#longestMs) clock.forgotten += keys;
      this.#forgotAtMs = clock.nowMs;
    });
    this.#limiter = limiterOf(policies, {
      parts: partsWith(FEATURES),
      store: {
        kind: "memory",
        keySecret: "memory",
        take: async (request) => counts.take(request, clock.nowMs),
        async reset() {},
        async ping() {},
      },
      hash: (key) => (key.kind === "once" ? storedKey(key) : key).values[0]!,
    });
  }

  /** @param takes with keys of `storedKey`. */
  async take(takes: readonly Take[], region: () => string, entry: LoggedRequest): Promise<Decision> {
    const { durationMs, status } = entry;
    const reservation = this.#hasCount ? await this.#limiter.reserveMatched(takes, region) : undefined;
    const decision = reservation?.decision ?? (await this.#limiter.takeMatched(takes, region));
    if (decision.hold && durationMs === undefined) this.untimed++;
    else if (decision.hold) this.#keep(decision.hold, this.#clock.nowMs + durationMs!);
    // A replayed request has its status at once: no log tells when that came.
    if (reservation && status !== undefined) await settleByStatus(reservation, status);
    for (const { resetAfterMs } of decision.policies.flatMap(({ limits }) => limits)) {
      this.#longestMs = Math.max(this.#longestMs, resetAfterMs);
    }
    return decision;
  }

  /** Renews the slots of a request, and releases them when it ends. */
  #keep(hold: Hold, endMs: number): void {
    const renewMs = this.#clock.nowMs + Math.floor(hold.renewEveryMs);
    if (renewMs >= endMs) this.#clock.at(endMs, () => hold.release());
    else this.#clock.at(renewMs, () => hold.renew().then(() => this.#keep(hold, endMs)));
  }
}
