/** The gateway's limits for other Workers, by RPC through a service binding: one deployed gateway serves many. */

import { WorkerEntrypoint } from "cloudflare:workers";
import type { Bindings } from "./config/settings.ts";
import { Kind } from "./core/algorithm.ts";
import type { Decision } from "./core/decision.ts";
import { gatewayOf } from "./gateway.ts";
import type { Limiter, PolicyTake, TakeOptions } from "./limiter.ts";

/** A decision as it crosses to another Worker: data only. */
export type PlainDecision = Omit<Decision, "hold">;

/** Options of a call; see {@link TakeOptions}. The default of `region` is the gateway's `REGION`, else `local`. */
export type ServiceOptions = Omit<TakeOptions, "background">;

/**
 * `[[services]]` with `entrypoint = "RateLimitService"` in another Worker's wrangler.toml, then
 * `await env.HEADGATE.take("api", { key, cost })`. Policies are the gateway's; their `match` is not looked at. A client of the gateway is
 * named with its kind: `await env.HEADGATE.reset("api", { kind: "ip", key: "203.0.113.7" })`.
 *
 * Every method rejects with an `Error` if the gateway's configuration has mistakes, and with a `TypeError` for misuse.
 */
export class RateLimitService extends WorkerEntrypoint<Bindings> {
  /**
   * Checks every limit of a policy, or of several policies, and charges all or none.
   *
   * If `delayMs` is there (leaky bucket), the caller has to wait so long before it goes on. Policies with a `concurrency`
   * limit are refused with a `TypeError`: a slot ends with its request, which the gateway does not see here.
   */
  async take(policy: string | PolicyTake[], options?: ServiceOptions): Promise<PlainDecision> {
    const limiter = this.#limiter();
    const names = typeof policy === "string" ? [policy] : policy.map((one) => one.policy);
    const holds = limiter.policies.find(
      ({ name, limits }) => names.includes(name) && limits.some(({ kind }) => kind === Kind.concurrency),
    );
    if (holds) throw new TypeError(`take: policy ${holds.name} has a concurrency limit, which cannot be taken by RPC`);
    return await limiter.take(policy, { ...options, background: this.ctx });
  }

  /** What a take of this cost would answer now. Charges nothing. */
  async peek(policy: string | PolicyTake[], options?: ServiceOptions): Promise<PlainDecision> {
    return await this.#limiter().peek(policy, options);
  }

  /** Forgets the counts of this key. Rejects with the message of a `StoreError` if the store has no answer. */
  async reset(policy: string, options?: Omit<ServiceOptions, "cost">): Promise<void> {
    await this.#limiter().reset(policy, options);
  }

  #limiter(): Limiter {
    const { limiter } = gatewayOf(this.env);
    if (!limiter) throw new Error("headgate: the gateway is misconfigured; its health and its log say how");
    return limiter;
  }
}
