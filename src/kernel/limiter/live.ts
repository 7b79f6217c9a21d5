/** What a limiter asks of the live document. Who reads the document adds the rest of `LiveReader`. */

import type { BlockedDecision } from "../core/decision.ts";
import type { Policy } from "../core/policy.ts";
import type { Background } from "../place/taker.ts";
import type { LiveStorage } from "../store/live.ts";
import type { AppliedPolicy } from "./decide.ts";
import type { OwnNumbers } from "./numbers.ts";

export interface AppliedLive {
  /** What applies to the client, with the numbers and modes that hold. */
  readonly applied: readonly AppliedPolicy[];
  /** The refusal of a blocked client, which needs no call to the store. Absent: it is not blocked. */
  readonly blocked?: BlockedDecision;
}

/** A policy as it is configured, and what the request or the program says about its numbers for this client. */
export interface NamedPolicy extends AppliedPolicy {
  readonly own?: OwnNumbers;
}

/** The policy with a client's own numbers. */
export type WithNumbers = (policy: Policy, own: OwnNumbers) => Policy;

export interface ApplyOptions {
  /** Applies numbers and modes as if the client were neither blocked nor exempt. */
  readonly asCounted?: boolean;
}

export interface LiveReaderOptions {
  readonly storage: LiveStorage;
  /** The document of this namespace is read. Default: that of none, empty. */
  readonly namespace?: string | undefined;
  /** Whose document is obeyed: one that another owner has written is not. Absent: anybody's. */
  readonly owner?: string | undefined;
  readonly policies: readonly Policy[];
  /** How often to look for a newer document, in ms. */
  readonly refreshMs: number;
  /** How long requests wait for the document at most, in ms. */
  readonly timeoutMs: number;
  /** The fingerprint of the key secret. */
  readonly secret: () => Promise<string>;
  readonly numbers: WithNumbers;
}

export interface LiveReader {
  /** @returns a promise to wait for, which never rejects; undefined: the request goes on at once. */
  ready(background: Background | undefined): Promise<void> | undefined;
  /**
   * Reads in the background if there may be a newer version. For after the request's own calls: a Worker opens six
   * connections at once, and a decision must not wait for one (Cloudflare, 2026-11).
   */
  freshen(background: Background | undefined): void;
  /** What the document makes of a request. */
  apply(applied: readonly NamedPolicy[], options?: ApplyOptions): AppliedLive;
}
