/** What single features add to the decisions of a limiter. */

import type { Policy } from "../core/policy.ts";
import type { Wrap } from "../place/flows/place.ts";
import type { Call, Inquiry, Taker } from "../place/taker.ts";
import type { PartitionHasher } from "../request/hash.ts";
import type { Answered, AppliedPolicy, PolicyKey } from "./decide.ts";
import type { KeysOf, MoreOfKey } from "./keys.ts";
import type { Take } from "./types.ts";

/** What is asked about the policies of a request. */
export interface Question extends Call, Pick<Inquiry, "flag"> {
  readonly region: () => string;
  /** The number of the request. Absent: it holds no slots. */
  readonly slot?: number;
  /** True: the program has been refused, and was told to ask again (`wait`). Absent: it asks for the first time. */
  readonly isRetry?: true;
}

/** Decides about these policies: all of them are charged, or none. */
export type DecideTakes = (takes: readonly AppliedPolicy[], question: Question) => Promise<Answered>;

/** The policies of the request that this isolate knows to refuse, although it may not know for how long. */
export type SurelyRefused = (takes: readonly AppliedPolicy[], question: Question) => ReadonlySet<AppliedPolicy>;

/** Makes the part of a feature, if one of the policies uses it. */
export interface PartOf {
  /** That of its feature. */
  readonly name: string;
  isUsed(policy: Policy): boolean;
  /** Changes how an isolate answers in its store's stead. */
  wrap?(inner: Wrap): Wrap;
  /** @param strict asks the store about lines of its own. */
  make(hash: PartitionHasher, strict: Taker): Part;
}

export interface Part {
  /** Says more about who is counted, and for what. */
  apply?(applied: { -readonly [K in keyof AppliedPolicy]: AppliedPolicy[K] }, take: Take): void;
  /** Says more about a key of the store. */
  ask?: MoreOfKey;
  /** Adds lines of its own: to what is asked, and to what a reset forgets. */
  lines?(inner: KeysOf): KeysOf;
  /** Whether the refusal of a policy is not certain before it is asked, whatever its limits say. */
  mustAsk?(take: AppliedPolicy): boolean;
  /** What an answer means. */
  hear?(answered: Answered): Answered;
  /**
   * The units to reserve under a policy that settles them afterwards, when its cost is known. undefined: this feature
   * settles nothing.
   */
  reserves?(applied: AppliedPolicy): number | undefined;
  /** A reservation has charged these keys. @returns call it when the request has ended. */
  begin?(charged: readonly PolicyKey[]): () => void;
  /** An answer goes to the client. */
  onAnswer?(answered: Answered, takes: readonly AppliedPolicy[], question: Question): void;
  /** These keys of the store are reset. */
  forget?(keys: readonly string[]): void;
  /** The program ends: begins the calls that tell the store what it does not know yet. Never rejects. */
  close?(): Promise<void>;
  /** Decides, around decisions that know nothing of it. */
  around?(decide: DecideTakes, surelyRefused: SurelyRefused): DecideTakes;
}
