/**
 * The clients with most refusals of one policy, in bounded memory: Space-Saving (Metwally, Agrawal, El Abbadi,
 * "Efficient Computation of Frequent and Top-k Elements in Data Streams", 2005). A client that is new to a full list
 * replaces the one with the fewest refusals, and begins with its count: `excess` says how much of a count may be
 * another client's. A client with more than 1/64 of all refusals is always in the list.
 */

const MAX_CLIENTS = 64;

interface Client {
  refused: number;
  excess: number;
}

export class TopClients {
  readonly #clients = new Map<string, Client>();
  /** No client has fewer refusals: counts only grow. */
  #least = 0;

  /** @param key the hash of the client's key. @param refused how often. @param excess as in `MinuteCounts.top`. */
  add(key: string, refused = 1, excess = 0): void {
    let client = this.#clients.get(key);
    if (!client) {
      client = this.#clients.size < MAX_CLIENTS ? { refused: 0, excess: 0 } : this.#removeLeastRefused();
      this.#clients.set(key, client);
    }
    client.refused += refused;
    client.excess += excess;
  }

  /** The most refused first. */
  list(): [key: string, refused: number, excess: number][] {
    const sorted = [...this.#clients].sort(([, a], [, b]) => b.refused - a.refused);
    return sorted.map(([key, { refused, excess }]) => [key, refused, excess]);
  }

  /** @returns what the next client begins with: all of these refusals may be another's. */
  #removeLeastRefused(): Client {
    for (const [key, { refused }] of this.#clients) {
      if (refused > this.#least) continue;
      this.#clients.delete(key);
      return { refused, excess: refused };
    }
    this.#least = Math.min(...[...this.#clients.values()].map(({ refused }) => refused));
    return this.#removeLeastRefused();
  }
}
