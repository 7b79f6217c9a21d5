/** Chains over a log: who pays for a request, and what a replay counts of it. src/core/chain.ts decides. */

import type { Policy } from "../../../core/policy.ts";
import type { PolicyKey } from "../../../limiter/decide.ts";
import { type Client, ClientCounts, type Clients } from "./clients.ts";
import { charges, type PolicyRun, type PolicyTake } from "./policy-run.ts";
import type { ChainSummary, Named, PayerChange, PayerSummary } from "./summary.ts";

/** How many of the clients that paid most are named. */
const MAX_TOP = 10;

/** A policy as requests are asked about it. */
export interface Asked {
  readonly run: PolicyRun;
  /** As it is in force for all clients; an overflow has what it takes over from the policy that matched. */
  readonly policy: Policy;
}

/** The policies that may be asked: those that are replayed, and each once more in every chain that it is a link of. */
export function askedOf(runs: readonly PolicyRun[], inForce: (policy: Policy) => Policy): Map<Policy, Asked> {
  const byName = new Map(runs.map((run) => [run.policy.name, run]));
  const all = runs.flatMap(({ configured }) => [configured, ...(configured.chain ?? [])]);
  return new Map(all.map((policy) => [policy, { run: byName.get(policy.name)!, policy: inForce(policy) }]));
}

/**
 * Says of each chain who pays, and which of its overflows were asked: those up to the payer. If nobody pays, all of
 * them refuse the request.
 *
 * @param uncharged the groups that the decision has not charged, as src/core/chain.ts names them.
 */
export function settleChains(
  applied: readonly { readonly take: PolicyTake; readonly link?: number }[],
  keys: readonly PolicyKey[],
  uncharged: ReadonlySet<number>,
): void {
  let asked: PolicyTake[] = [];
  for (const [t, { take, link }] of applied.entries()) {
    if (link === undefined) continue;
    if (link === 0) asked = [];
    const head = asked[0] ?? take;
    if (head.payer) continue;
    asked.push(take);
    take.isAsked = true;
    const { group } = keys.find((key) => key.take === t)!.request;
    if (!uncharged.has(group)) head.payer = take;
    for (const one of asked) one.refused = !head.payer;
  }
}

/** Who pays for a request that a policy matched: the policy itself, or one of its overflows. Undefined: nobody. */
function payerOf(take: PolicyTake | undefined, isAllowed: boolean): PolicyTake | undefined {
  if (!take || !isAllowed) return undefined;
  if (take.link !== undefined) return take.payer;
  return take.refused ? undefined : take;
}

/** What one of a chain has paid, or nobody. */
class Payments {
  #requests = 0;
  #units = 0;
  readonly #clients: Clients;
  readonly #requestsOf = new ClientCounts();
  /** Kept for overflows only: they have few clients that pay. */
  readonly #unitsOf: Map<number, number> | undefined;

  constructor(clients: Clients, isOverflow: boolean) {
    this.#clients = clients;
    this.#unitsOf = isOverflow ? new Map() : undefined;
  }

  add(client: number, units: number): void {
    this.#requests++;
    this.#units += units;
    if (!this.#clients.isCounted(client)) return;
    this.#requestsOf.increment(client);
    this.#unitsOf?.set(client, (this.#unitsOf.get(client) ?? 0) + units);
  }

  summary(policy: string | null, nameOf: (client: Client) => Named): PayerSummary {
    const paid = [...(this.#unitsOf ?? [])].sort(([, one], [, other]) => other - one).slice(0, MAX_TOP);
    const named = this.#clients.withNumbers(new Set(paid.map(([client]) => client)));
    return {
      policy,
      requests: this.#requests,
      units: this.#units,
      clients: this.#requestsOf.counts.reduce((sum, requests) => sum + Math.min(requests, 1), 0),
      top: paid.map(([client, units]) => {
        return { ...nameOf(named.get(client)!), requests: this.#requestsOf.get(client), units };
      }),
    };
  }
}

/** One policy with an overflow, and those that are asked after it. */
export class ChainRun {
  requests = 0;
  readonly #policy: Policy;
  readonly #paid: ReadonlyMap<string, Payments>;
  readonly #refused: Payments;
  readonly #spared: Payments;

  constructor({ configured }: PolicyRun, clients: Clients) {
    this.#policy = configured;
    const links = [configured, ...configured.chain!];
    this.#paid = new Map(links.map(({ name }, link) => [name, new Payments(clients, link > 0)]));
    this.#refused = new Payments(clients, false);
    this.#spared = new Payments(clients, false);
  }

  /** @param head the take of the policy that matched. @param status of the answer, as for `charges`. */
  count(head: PolicyTake, isAllowed: boolean, status: number | undefined): void {
    this.requests++;
    const payer = payerOf(head, isAllowed);
    const nobody = head.refused ? this.#refused : this.#spared;
    const { policy, client, cost, isRepeat } = payer ?? head;
    const isCharged = !payer || (!isRepeat && charges(policy, status));
    (payer ? this.#paid.get(policy.name)! : nobody).add(client.number, isCharged ? cost : 0);
  }

  summary(nameOf: (client: Client) => Named): ChainSummary {
    const { name, meter } = this.#policy;
    return {
      policy: name,
      ...(meter && { unit: meter.unit }),
      requests: this.requests,
      payers: [...this.#paid].map(([name, payments]) => payments.summary(name, nameOf)),
      refused: this.#refused.summary(null, nameOf),
      spared: this.#spared.summary(null, nameOf),
    };
  }
}

/** Requests for which another one pays under a candidate. */
export class PayerChanges {
  /** The policies with an overflow in one of the configurations. */
  readonly #heads: readonly string[];
  readonly #changes = new Map<string, { -readonly [Field in keyof PayerChange]: PayerChange[Field] }>();

  /** @param policies those that both configurations replay. */
  constructor(policies: readonly { readonly before: PolicyRun; readonly after: PolicyRun }[]) {
    const both = policies.filter(({ before, after }) => before.configured.chain ?? after.configured.chain);
    this.#heads = both.map(({ before }) => before.policy.name);
  }

  count(was: Decided, is: Decided): void {
    for (const policy of this.#heads) {
      const [before, after] = [was, is].map(({ takes }) => matchOf(policy, takes)) as [PolicyTake?, PolicyTake?];
      if (!before || !after) continue;
      const [payer, newPayer] = [payerOf(before, was.allowed), payerOf(after, is.allowed)];
      const names = [payer, newPayer].map((one) => one?.policy.name ?? null);
      if (names[0] === names[1]) continue;
      const key = [policy, ...names].join();
      let change = this.#changes.get(key);
      if (!change) {
        const unit = after.policy.meter?.unit;
        change = { policy, ...(unit && { unit }), before: names[0]!, after: names[1]!, requests: 0, units: 0 };
        this.#changes.set(key, change);
      }
      change.requests++;
      change.units += (newPayer ?? payer)!.cost;
    }
  }

  summary(): PayerChange[] {
    return [...this.#changes.values()].sort((one, other) => other.requests - one.requests);
  }
}

/** What a configuration has decided about a request. */
interface Decided {
  readonly allowed: boolean;
  readonly takes: readonly PolicyTake[];
}

function matchOf(policy: string, takes: readonly PolicyTake[]): PolicyTake | undefined {
  return takes.find((take) => !take.link && take.policy.name === policy);
}
