/**
 * The clients with most refusals of each policy, merged from the lists of many isolates (Space-Saving). A list entry
 * says how many refusals were counted for a client, and how many of them may be another's. Merged lists add both
 * numbers. Their difference is the number of refusals that certainly were this client's.
 */

/** Clients that are kept for each policy. */
export const MAX_CLIENTS = 64;
/** Clients of a policy while lists are merged: to sort them after each list would take seconds for a day. */
const MAX_MERGED = 512;
/** Policies whose clients are kept in one row. */
const MAX_POLICIES = 100;

export type Entry = readonly [key: string, refused: number, excess: number];
export type Lists = Readonly<Record<string, readonly Entry[]>>;
/** For each policy at most `MAX_MERGED` entries by the client's key. */
export type Top = Map<string, Map<string, Entry>>;

export function addClients(top: Top, lists: Lists): void {
  for (const [policy, entries] of Object.entries(lists)) {
    const clients = top.get(policy) ?? new Map<string, Entry>();
    if (clients.size === 0 && top.size >= MAX_POLICIES) continue;
    for (const [key, refused, excess] of entries) {
      const [, refusedBefore, excessBefore] = clients.get(key) ?? [key, 0, 0];
      clients.set(key, [key, refusedBefore + refused, excessBefore + excess]);
    }
    const isTooMany = clients.size > MAX_MERGED;
    top.set(policy, isTooMany ? new Map(mostOf(clients).map((entry) => [entry[0], entry])) : clients);
  }
}

/** The refusals that are certainly the client's. */
export function certain([, refused, excess]: Entry): number {
  return refused - excess;
}

/** For each policy at most `MAX_CLIENTS`, the most certain first. */
export function listsOf(top: Top): Lists {
  return Object.fromEntries([...top].map(([policy, clients]) => [policy, mostOf(clients)]));
}

function mostOf(clients: ReadonlyMap<string, Entry>): Entry[] {
  return [...clients.values()].sort((a, b) => certain(b) - certain(a) || b[1] - a[1]).slice(0, MAX_CLIENTS);
}
