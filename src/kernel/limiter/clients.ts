/** From what a caller names to the clients that are counted, with the numbers that hold for them. */

import { MAX_KEYS } from "../core/layout.ts";
import type { PartitionHasher } from "../request/hash.ts";
import type { AppliedPolicy } from "./decide.ts";
import { keysPerClient, MOST_KEYS_OF_CLIENT } from "./keys.ts";
import type { AppliedLive, LiveReader, NamedPolicy, WithNumbers } from "./live.ts";
import { hasPlan, type OwnNumbers } from "./numbers.ts";
import type { Part } from "./part.ts";
import type { Take } from "./types.ts";

type Draft = { -readonly [K in keyof NamedPolicy]: NamedPolicy[K] };

interface Clients {
  /** The client of one take. With a live document its own numbers are not applied yet. */
  named(take: Take): NamedPolicy;
  /** The clients of a request, with their numbers. */
  clientsOf(takes: readonly Take[]): AppliedLive;
}

/** @param live undefined: no live document is read. */
export function clientsFor(
  hash: PartitionHasher,
  parts: readonly Part[],
  numbers: WithNumbers,
  live: LiveReader | undefined,
): Clients {
  const applies = parts.flatMap(({ apply }) => apply ?? []);
  const addNumbers = live ? noteNumbers : applyNumbers;

  function named(take: Take): NamedPolicy {
    const { policy, key, cost, isPreflight } = take;
    const client: Draft = { policy, kind: key.kind, partition: hash(key), cost };
    if (isPreflight) client.isPreflight = client.isStrict = true;
    for (const apply of applies) apply(client, take);
    addNumbers(client, take);
    return client;
  }

  function applyNumbers(client: Draft, { plan, limits }: OwnNumbers): void {
    if (plan === undefined && limits === undefined) return;
    const { policy } = client;
    client.policy = numbers(policy, { plan, limits });
    // A name that is not a plan of the policy is left out: it could be anything, and listeners may write it down.
    if (hasPlan(policy, plan)) client.plan = plan;
  }

  /** The live document's numbers for all come before a client's own: it applies both. */
  function noteNumbers(client: Draft, { plan, limits }: OwnNumbers): void {
    client.own = hasPlan(client.policy, plan) ? { plan, limits } : { limits };
  }

  function namedAll(takes: readonly Take[]): NamedPolicy[] {
    checkSize(takes);
    const all: NamedPolicy[] = [];
    for (const take of takes) all.push(named(take));
    return all;
  }

  const clientsOf: Clients["clientsOf"] = live
    ? (takes) => live.apply(namedAll(takes))
    : (takes) => ({ applied: namedAll(takes) });
  return { named, clientsOf };
}

/**
 * Every store takes `MAX_KEYS`. With more, some store would fail, and its policies would admit what they should refuse.
 *
 * @throws {TypeError}
 */
export function checkSize(takes: readonly Take[]): void {
  if (takes.length * MOST_KEYS_OF_CLIENT <= MAX_KEYS) return;
  let keys = 0;
  for (const { policy } of takes) keys += keysPerClient(policy);
  if (keys <= MAX_KEYS) return;
  const expected = `expected at most ${MAX_KEYS} keys of the store in one take`;
  throw new TypeError(`take: ${expected}; found ${keys}, of ${takes.length} policies and clients`);
}

/**
 * A client under a policy whose units a part reserves, to settle them afterwards: only a strict take can charge what is
 * used beyond a reservation. The same object: no part does.
 */
export function reservedFor(parts: readonly Part[], client: AppliedPolicy): AppliedPolicy {
  for (const { reserves } of parts) {
    const cost = reserves?.(client);
    if (cost !== undefined) return { ...client, cost, isStrict: true };
  }
  return client;
}
