/**
 * The clients with most refusals of one policy, in bounded memory: Space-Saving (Metwally, Agrawal, El Abbadi,
 * "Efficient Computation of Frequent and Top-k Elements in Data Streams", 2005). A client that is new to a full list
 * takes the place of the one with the fewest refusals, and its count: `excess` says how much of a count may be another
 * client's. A client with more than 1/64 of all refusals is always in the list.
 */

const MAX_CLIENTS = 64;

interface Client {
  key: string;
  refused: number;
  excess: number;
}

export class TopClients {
  readonly #clients: Client[] = [];
  readonly #byKey = new Map<string, Client>();
  /** No client has fewer refusals: counts only grow. */
  #least = 0;
  /** Where to look next for a client with so few refusals: a flood of new clients must not search the list for each. */
  #at = 0;

  /** @param key the hash of the client's key. @param refused how often. @param excess as in `MinuteCounts.top`. */
  add(key: string, refused = 1, excess = 0): void {
    const known = this.#byKey.get(key);
    if (known) {
      known.refused += refused;
      known.excess += excess;
      return;
    }
    let client: Client;
    if (this.#clients.length < MAX_CLIENTS) {
      client = { key, refused, excess };
      this.#clients.push(client);
    } else {
      client = this.#leastRefused();
      this.#byKey.delete(client.key);
      client.key = key;
      client.excess = client.refused + excess;
      client.refused += refused;
    }
    this.#byKey.set(key, client);
  }

  /** The most refused first. */
  list(): [key: string, refused: number, excess: number][] {
    const sorted = [...this.#clients].sort((a, b) => b.refused - a.refused);
    return sorted.map(({ key, refused, excess }) => [key, refused, excess]);
  }

  #leastRefused(): Client {
    for (let looked = 0; looked < MAX_CLIENTS; looked++) {
      const client = this.#clients[this.#at]!;
      this.#at = (this.#at + 1) % MAX_CLIENTS;
      if (client.refused <= this.#least) return client;
    }
    this.#least = Math.min(...this.#clients.map(({ refused }) => refused));
    return this.#leastRefused();
  }
}
