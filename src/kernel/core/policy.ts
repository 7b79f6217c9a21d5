/** Policies and their limits after validation. src/kernel/config reads them from the configuration. */

import type { AlgorithmName, LimitSpec } from "./algorithms.ts";
import type { BanLimit } from "./ban.ts";

export type { AlgorithmName } from "./algorithms.ts";

/** A policy as the rest of the program sees it: complete, checked, in integers. */
export interface Policy {
  /** `[a-z0-9][a-z0-9-]{0,31}`, unique. */
  readonly name: string;
  /** The requests that the policy is for. */
  readonly match: Match;
  /** Requests that it leaves out all the same: those that any of these matches. Absent: none. */
  readonly except?: readonly Match[];
  /** The policy skips clients at these addresses: ranges in CIDR notation. Absent: none. */
  readonly exempt?: readonly string[];
  /** Who is counted: the first kind of key that the request has; `a+b` combines kinds. Example: `["bearer", "ip"]`. */
  readonly key: readonly string[];
  /** Texts of keys count in one spelling: features/fold. Absent: as they are. */
  readonly fold?: true;
  /** The cost is that of the first rule that matches the request. Without a matching rule it is 1. */
  readonly cost: readonly CostRule[];
  /** 1 to 8 limits. */
  readonly limits: readonly Limit[];
  /** The key source by which a request names its client's plan. Absent: only a program names plans. */
  readonly plan?: string;
  /** Plans by name: the numbers of limits for clients on this plan, as they are written. */
  readonly plans?: Readonly<Record<string, Numbers>>;
  /**
   * Who admits: the store (`strict`), the instance by units that it took from the store ahead of demand (`leased`), or
   * the instance alone, by its part of the counts (`shared`).
   */
  readonly consistency: "strict" | "leased" | "shared";
  /** Only with `shared`: how often an instance reports what it has admitted, in ms. */
  readonly syncMs?: number;
  /** `shadow`: never refuses. */
  readonly mode: "enforce" | "shadow";
  /** What decides when the store has no answer. */
  readonly onStoreFailure: "local" | "allow" | "deny";
  /** Whether the limits page shows it. */
  readonly documented: boolean;
  /** The cost is what a language model used, known only after its answer. Absent: `cost` says it before. */
  readonly meter?: Meter;
  /** Repeats of a request, known by an id that the client sends, are not counted again. Absent: none are known. */
  readonly once?: PolicyOnce;
  /** The name of the policy that pays when this one refuses. Absent: nobody, and the request is refused. */
  readonly overflow?: string;
  /**
   * The policies that are asked after this one, in order: those of `overflow`, each with what it takes over from this
   * policy. Absent: none.
   */
  readonly chain?: readonly Policy[];
  /** True: another policy names it as its overflow, and no request matches it. Absent: it is none. */
  readonly isOverflow?: true;
  /** Who is refused too often is banned: refused for some time. Absent: nobody is. */
  readonly ban?: PolicyBan;
  /** What stays counted, by the status of the answer: features/count/status.ts. Absent: all. */
  readonly count?: readonly string[];
  /** The answer to a request that the policy refuses. Absent: a problem document with status 429. */
  readonly refusal?: PolicyRefusal;
  /** At which parts of its limits somebody hears of a client, above 0 … 1. Absent: at none. */
  readonly warn?: readonly number[];
}

/** When a client is banned, and for how long. */
export interface PolicyBan {
  /** So many refusals begin a ban, 1 … 10^9. */
  readonly after: number;
  /** The time in which they count, in ms: 1 s … 31 d. */
  readonly withinMs: number;
  /** How long the first ban lasts, the second, and so on, in ms; each further one lasts as long as the last. */
  readonly forMs: readonly number[];
}

/** Which requests are repeats, and how many of them are not counted. */
export interface PolicyOnce {
  /** The key source that says the id of a request, for example `header:idempotency-key`. */
  readonly source: string;
  /** For how long repeats are admitted, in ms: 1 s … 1 h. */
  readonly forMs: number;
  /** How many repeats are admitted without being counted, 1 … 10. */
  readonly repeats: number;
}

/** A policy's own answer to the requests that it refuses. The headers are those of every refusal. */
export interface PolicyRefusal {
  /** 402, 403, 420 to 429 or 503; 200: only for errors of JSON-RPC. */
  readonly status: number;
  /** The form: always the problem document, or what the caller's protocol reads. Absent: neither. */
  readonly as?: "problem" | "auto";
  /** The `Content-Type` of `body`. */
  readonly type?: string;
  /**
   * `{retryAfter}` stands for the wait in seconds, or `null` for never; `{policy}` for the policy's name; `{limit}` for
   * the id of the limit that refuses for longest. Absent: the document of every refusal.
   */
  readonly body?: string;
  /** The code of the error that answers a JSON-RPC request. Absent: the status. */
  readonly code?: number;
}

/** How the cost of a request to a language model is reserved before the answer, and settled after it. */
export interface Meter {
  /**
   * What a limit counts: tokens, or dollars. Numbers of a `usd` policy are units of 10 micro-dollars from here on:
   * 100,000 units are a dollar.
   */
  readonly unit: "tokens" | "usd";
  /** The most output tokens that are reserved, and what is reserved if a request does not say its own maximum. */
  readonly maxOutput: number;
  /** Input tokens that an image or a file in a request counts as. */
  readonly perImage: number;
  /**
   * What happens to requests that nobody can meter: they are refused, or cost so many tokens or dollars. Absent: they
   * are refused.
   */
  readonly unmetered?: "refuse" | { readonly cost: number };
  /** When a stream needs more than was reserved: `finish` counts it at the end, `cut` counts it while it streams. */
  readonly onExceeded: "finish" | "cut";
  /** With `usd` only: dollars per million tokens by model, `*` for any text. The longest match wins. */
  readonly prices?: Readonly<Record<string, Price>>;
  /** With `tokens` only: how many units a token counts as, in tenths. Absent: 1 each. */
  readonly weights?: Weights;
}

/** Dollars per million tokens. */
export interface TokenPrice {
  /** Of input that no cache of the provider had or got. */
  readonly input: number;
  /** Of input that was read from a cache. Absent: the price of other input. */
  readonly cachedInput?: number;
  /** Of input that was written to a cache, for minutes. Absent: 1.25 times `input`. */
  readonly cacheWrite?: number;
  /** Of input that was written to a cache for an hour. Absent: twice `input`. */
  readonly cacheWrite1h?: number;
  /** Of the answer, with reasoning that is not shown. */
  readonly output: number;
}

/** Absent prices keep their ratio to `input`. */
export type PriceStep = Partial<TokenPrice> & Pick<TokenPrice, "input">;

/** What one model costs. */
export interface Price extends TokenPrice {
  /** What all tokens of a request cost that has more than so many tokens of input. */
  readonly above?: Readonly<Record<string, PriceStep>>;
  /** What the prices of tokens are multiplied by, by the service tier. Others: 1. */
  readonly tier?: Readonly<Record<string, number>>;
  /** Dollars for each call of one of the provider's own tools, by its name. */
  readonly call?: Readonly<Record<string, number>>;
}

/** How many units a token counts as, by what it is. Absent: 1. */
export interface Weights {
  /** Of input that no cache had or got. */
  readonly input?: number;
  /** Of input that was read from a cache. */
  readonly cachedInput?: number;
  /** Of input that was written to a cache, for whatever time. */
  readonly cacheWrite?: number;
  /** Of output. */
  readonly output?: number;
}

/** The requests that a policy or a rule is for. Every given condition must hold, by any of its values. */
export interface Match {
  /** Upper case. */
  readonly method?: readonly string[];
  /** Patterns of paths. */
  readonly path?: readonly string[];
  /** Patterns of hosts. */
  readonly host?: readonly string[];
  /** Methods of JSON-RPC; `*` stands for any text. */
  readonly rpc?: readonly string[];
  /** Tools that the method `tools/call` names; `*` stands for any text. */
  readonly tool?: readonly string[];
  /** What fields of the body say, by their paths; `*` stands for any text. */
  readonly body?: Readonly<Record<string, readonly string[]>>;
}

/** The cost of the requests that match. */
export interface CostRule extends Match {
  /** Units, 0 … 10^9; 0 only peeks. */
  readonly cost: number;
}

/** A limit as the script and people see it. */
export type Limit = LimitSpec & {
  /** The policy's name if it has one limit, `<policy>-<n>` if it has several. Unique over all policies. */
  readonly id: string;
  readonly algorithm: AlgorithmName;
  /** `region`: each region counts by itself. */
  readonly scope: "global" | "region";
  /** What it counts, if its policy has a meter. With `usd` all its numbers are units of 10 micro-dollars. */
  readonly unit?: Meter["unit"];
};

/** What a decision says about a policy: its limits, and its ban, whose units are refusals. */
export type DecidedLimit =
  | Limit
  | (BanLimit & {
      /** `<policy>-ban`. */
      readonly id: string;
      readonly algorithm: "ban";
      readonly scope: "global";
      readonly unit?: never;
    });

/**
 * Numbers by the ids of limits as people write them, for example `{ "api-1": 200 }`: dollars under a `usd` meter. A
 * limit that is not named keeps its number.
 */
export type Numbers = Readonly<Record<string, number | undefined>>;
