/** What a replay has found. `--json` prints it as it is. Instants are ms since the epoch, shares are 0 to 1. */

export interface Summary {
  readonly log: LogSummary;
  /** One configuration, or two: the present one and the candidate. */
  readonly configurations: readonly ConfigurationSummary[];
  /** Absent with one configuration. */
  readonly comparison?: Comparison;
  /** Absent without `--suggest`. */
  readonly suggestions?: readonly Suggestion[];
  /** What the reader of the report must know: what the log lacks, what was forgotten, how exact the numbers are. */
  readonly notes: readonly string[];
}

export interface LogSummary {
  readonly files: number;
  readonly bytes: number;
  readonly lines: number;
  /** Lines that are requests, without those of the gateway's own paths. */
  readonly requests: number;
  readonly fromMs: number;
  readonly toMs: number;
}

export interface ConfigurationSummary {
  /** The file's name. */
  readonly name: string;
  /** Over all policies: a request counts once. */
  readonly requests: Counted;
  readonly policies: readonly PolicySummary[];
  /** Absent: no policy has an overflow. */
  readonly chains?: readonly ChainSummary[];
  /** Policies that could not be replayed, and why. */
  readonly skipped: readonly SkippedPolicy[];
  readonly timeline: Timeline;
  /** Absent without `--costs`. */
  readonly costs?: readonly PolicyCosts[];
}

/** What a policy would cost under each consistency that it may have. */
export interface PolicyCosts {
  readonly policy: string;
  readonly present: "strict" | "leased" | "shared";
  readonly requests: number;
  readonly settings: readonly Costs[];
}

export interface Costs {
  readonly consistency: "strict" | "leased" | "shared";
  /** Calls of the store. */
  readonly calls: number;
  readonly refused: number;
  /** The price of these calls. */
  readonly dollars: number;
  /** The price per million requests, in dollars. */
  readonly perMillion: number;
}

export interface SkippedPolicy {
  readonly policy: string;
  readonly reason: string;
  /** The mode in force. Absent: the configuration does not have this policy. */
  readonly mode?: "enforce" | "shadow";
}

/** Requests, and how many were refused. In a policy in shadow: would have been. */
export interface Counted {
  readonly requests: number;
  readonly refused: number;
}

/**
 * Of a policy with an overflow, refused requests are those that every policy of its chain refused. An overflow has the
 * requests that came to it: all policies before it refused them.
 */
export interface PolicySummary extends Counted {
  readonly policy: string;
  readonly mode: "enforce" | "shadow";
  /** No request matches it. Absent: it is none. */
  readonly isOverflow?: true;
  /** Units asked for, and those that were refused. */
  readonly units: number;
  readonly refusedUnits: number;
  readonly clients: number;
  readonly refusedClients: number;
  /** Clients that were never refused and used at least 80 % of a limit at some instant. */
  readonly nearMisses: number;
  readonly limits: readonly LimitSummary[];
  /** Those refused most often, at most 10. */
  readonly topRefused: readonly ClientSummary[];
  readonly timeline: Timeline;
}

export interface LimitSummary {
  readonly id: string;
  /** As people read it, for example `100 per 1 minute, sliding-window`. */
  readonly words: string;
  readonly refused: number;
  /**
   * How many clients have used at most 10 %, 20 %, … 100 % of the limit at the instant when they used most; the
   * eleventh number counts the clients that were refused.
   */
  readonly peaks: readonly number[];
}

/** Who paid for the requests that a policy with an overflow matched. */
export interface ChainSummary {
  readonly policy: string;
  /** What its units are: `usd` are 10 micro-dollars. Absent: those of `cost`. */
  readonly unit?: "tokens" | "usd";
  readonly requests: number;
  /** The policy itself, and those asked after it, in their order. */
  readonly payers: readonly PayerSummary[];
  /** Nobody paid: every policy of the chain refused. */
  readonly refused: PayerSummary;
  /** Nobody paid: somebody in the chain would have, and another policy refused or blocked the request. */
  readonly spared: PayerSummary;
}

export interface PayerSummary {
  /** null: nobody. */
  readonly policy: string | null;
  readonly requests: number;
  /** Units that were charged. Of requests for which nobody paid: those asked for. */
  readonly units: number;
  /** By the key of who paid; if nobody did, by that of the policy that matched. */
  readonly clients: number;
  /** Of an overflow: the clients that paid most, at most 10. */
  readonly top: readonly (Named & { readonly requests: number; readonly units: number })[];
}

/** A client as people see it. */
export interface Named {
  /** The hash of the client's key, as the store and the admin API know it. */
  readonly client: string;
  readonly kind: string;
  /** The key itself. Absent without `--show-keys`, and of recorded lines. */
  readonly key?: string;
}

export interface ClientSummary extends Counted, Named {}

/** Admitted and refused requests over time. */
export interface Timeline {
  readonly fromMs: number;
  /** Length of a step. */
  readonly stepMs: number;
  readonly admitted: readonly number[];
  readonly refused: readonly number[];
}

/** The candidate against the present configuration. */
export interface Comparison {
  /** Over all policies: what happened to the request. */
  readonly requests: Changed;
  /** Policies of the same name in both. */
  readonly policies: readonly (Changed & { readonly policy: string })[];
  /** Who pays for other requests than before. Absent: no policy has an overflow, or nothing changes. */
  readonly payers?: readonly PayerChange[];
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /**
   * Policies, enforced by at least one configuration, of which it is not known what changes: one configuration or both
   * skip them. Those that both skip, and that are the same in both, are not among them.
   */
  readonly unknown: readonly string[];
}

/** Requests of a policy with an overflow in one of the configurations. */
export interface PayerChange {
  readonly policy: string;
  /** As in `ChainSummary`. */
  readonly unit?: "tokens" | "usd";
  /** Who paid under the present configuration. null: nobody. */
  readonly before: string | null;
  /** Who pays under the candidate. null: nobody. */
  readonly after: string | null;
  readonly requests: number;
  /** Those asked of who pays, or of who paid if nobody does now. */
  readonly units: number;
}

export interface Changed {
  /** Admitted by the present configuration, refused by the candidate. */
  readonly newlyRefused: ChangedCount;
  readonly newlyAdmitted: ChangedCount;
}

export interface ChangedCount {
  readonly requests: number;
  readonly clients: number;
  /** The first ones of the clients with the most, at most 5. */
  readonly examples: readonly ChangedExample[];
}

export interface ChangedExample extends Named {
  readonly atMs: number;
  readonly policy: string;
  /** Method and path as logged, without the query. Empty if the log has none. */
  readonly request: string;
  /** How many requests of this client changed in the same way. */
  readonly requests: number;
}

/** For one limit: what other numbers would have refused if it were the only limit. */
export interface Suggestion {
  readonly policy: string;
  readonly limit: string;
  /** The number in the configuration, as it is written there. */
  readonly present: number;
  /** The share of refused requests that was asked for. */
  readonly share: number;
  /** The smallest candidate that refuses less than that share. Absent: none does, or there were no requests. */
  readonly suggested?: number;
  /** The candidates, by rising numbers; `--json` prints them under this name. Empty: no request matched the policy. */
  readonly rungs: readonly Candidate[];
}

export interface Candidate extends Counted {
  /** As it would be written in the configuration. */
  readonly limit: number;
  readonly refusedClients: number;
}
