/** What an isolate has counted in one minute: plain numbers by series, and the clients with most refusals. */

import { type MinuteCounts, seriesOf } from "./batch.ts";
import { METRICS, OTHER, OWN_WORDS } from "./metrics.ts";
import { TopClients } from "./top-clients.ts";

/** A series takes about 200 bytes (Node 24, 2026-11). Policies, regions, limits and places are far fewer, as a rule. */
const MAX_SERIES = 1_000;

const LABELS = new Map(METRICS.map(({ series, labels }) => [series, labels]));
LABELS.set("store_seconds_sum", LABELS.get("store_seconds")!);

/** A sum, or the next label's values. A tree costs less for each decision than a text of all labels. */
interface Node {
  sum: number;
  next?: Map<string, Node>;
}

export class Tally {
  minute: number;
  readonly #root: Node = { sum: 0 };
  #size = 0;
  readonly #top = new Map<string, TopClients>();

  /** @param minute as in `MinuteCounts`. */
  constructor(minute: number) {
    this.minute = minute;
  }

  /** @param path the metric's name in a series, and the values of its labels. */
  add(path: readonly string[], count: number, maxSeries = MAX_SERIES): void {
    let node = this.#root;
    let isNew = false;
    for (const label of path) {
      let next = node.next?.get(label);
      if (!next) {
        if (this.#size >= maxSeries) {
          this.add(withOther(path), count, Number.POSITIVE_INFINITY);
          return;
        }
        isNew = true;
        next = { sum: 0 };
        node.next ??= new Map();
        node.next.set(label, next);
      }
      node = next;
    }
    if (isNew) this.#size++;
    node.sum += count;
  }

  /** A client was refused by a policy. */
  addRefusal(policy: string, key: string, refused?: number, excess?: number): void {
    let clients = this.#top.get(policy);
    if (!clients) {
      clients = new TopClients();
      this.#top.set(policy, clients);
    }
    clients.add(key, refused, excess);
  }

  /** Adds what the same or the next minute has counted, and becomes that minute. */
  mergeNext(other: Tally): void {
    this.minute = other.minute;
    other.#visit((path, sum) => this.add(path, sum));
    for (const [policy, clients] of other.#top) {
      for (const [key, refused, excess] of clients.list()) this.addRefusal(policy, key, refused, excess);
    }
  }

  counts(): MinuteCounts {
    const sums: Record<string, number> = {};
    this.#visit(([metric, ...labels], sum) => {
      sums[seriesOf(metric!, labels)] = sum;
    });
    const top = Object.fromEntries([...this.#top].map(([policy, clients]) => [policy, clients.list()]));
    return { minute: this.minute, sums, top };
  }

  #visit(
    visitor: (path: readonly string[], sum: number) => void,
    node = this.#root,
    path: readonly string[] = [],
  ): void {
    if (!node.next && node.sum !== 0) visitor(path, node.sum);
    for (const [label, next] of node.next ?? []) this.#visit(visitor, next, [...path, label]);
  }
}

/** The series that is counted instead beyond the bound. Values that are this program's own words stay: they are few. */
function withOther([metric, ...values]: readonly string[]): readonly string[] {
  const labels = LABELS.get(metric!)!;
  return [metric!, ...values.map((value, at) => (OWN_WORDS.includes(labels[at] ?? "le") ? value : OTHER))];
}
