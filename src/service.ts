/** The gateway's limits for other Workers, by RPC through a service binding: one gateway serves many Workers. */

import { WorkerEntrypoint } from "cloudflare:workers";
import { gatewayOf } from "./gateway.ts";
import type { Bindings } from "./kernel/config/settings.ts";
import { isConcurrency } from "./kernel/core/concurrency.ts";
import type { AdmittedDecision, Decision } from "./kernel/core/decision.ts";
import type { Limiter, PolicyTake, TakeOptions } from "./kernel/limiter/types.ts";

/** A decision as another Worker receives it: data only. */
export type PlainDecision = Omit<AdmittedDecision, "hold"> | Exclude<Decision, AdmittedDecision>;

/** Options of a call; see {@link TakeOptions}. Default of `region`: the gateway's `REGION`; without one, `local`. */
export type ServiceOptions = Omit<TakeOptions, "background">;

/**
 * The limiter of a deployed gateway. Put `[[services]]` with `entrypoint = "RateLimitService"` into another Worker's
 * wrangler.toml, then call `await env.HEADGATE.take("api", { key, cost })`. The policies are the gateway's; their
 * `match` does not apply. Name a client of the gateway with the kind of its key:
 * `await env.HEADGATE.reset("api", { kind: "ip", key: "203.0.113.7" })`.
 *
 * Every method rejects with an `Error` if the gateway's configuration has mistakes, and with a `TypeError` for misuse.
 */
export class RateLimitService extends WorkerEntrypoint<Bindings> {
  /**
   * Checks every limit of a policy, or of several policies, and counts under all of them or none.
   *
   * If the decision has `delayMs` (leaky bucket), the caller must wait that long before it goes on. Rejects with a
   * `TypeError` for a policy with a `concurrency` limit: a slot ends with its request, and the gateway does not see the
   * caller's request.
   */
  async take(policy: string | PolicyTake[], options?: ServiceOptions): Promise<PlainDecision> {
    const limiter = this.#limiter();
    // Anything may come by RPC: the limiter says what is wrong with it.
    const names = [policy].flat().map((one) => (typeof one === "string" ? one : one?.policy));
    const asked = limiter.policies.filter(({ name }) => names.includes(name));
    const holds = asked.find(({ limits }) => limits.some(isConcurrency));
    if (holds) throw new TypeError(`take: policy ${holds.name} has a concurrency limit, which cannot be taken by RPC`);
    return await limiter.take(policy, { ...options, background: this.ctx });
  }

  /** The answer that a `take` of this cost would get now. Counts nothing. */
  async peek(policy: string | PolicyTake[], options?: ServiceOptions): Promise<PlainDecision> {
    return await this.#limiter().peek(policy, options);
  }

  /** Forgets the counts of this key. Rejects with the message of a `StoreError` if the store does not answer. */
  async reset(policy: string, options?: Omit<ServiceOptions, "cost">): Promise<void> {
    await this.#limiter().reset(policy, options);
  }

  #limiter(): Limiter {
    const { limiter } = gatewayOf(this.env);
    if (!limiter) throw new Error("headgate: the gateway is misconfigured; its health and its log say how");
    return limiter;
  }
}
