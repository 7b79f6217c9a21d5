/**
 * A bounded map: what was used longest ago is forgotten first. Entries live in two generations. When the newer one is
 * full, the older one is dropped: the map holds at least `maxSize`, at most twice as much, and always the entry that
 * was set last. `quick-lru` works the same way, but without weights.
 */

interface BoundedMapOptions<V> {
  /** 1 or more: a number of entries, or the sum of their weights. */
  readonly maxSize: number;
  /** The weight of a value: above 0, and always the same for one value. Absent: 1 each. */
  readonly weigh?: (value: V) => number;
  /** Called with the number of entries that are forgotten to make room. */
  readonly onForget?: ((entries: number) => void) | undefined;
}

export class BoundedMap<K, V> {
  readonly #maxSize: number;
  readonly #weigh: (value: V) => number;
  readonly #onForget: ((entries: number) => void) | undefined;
  #newer = new Map<K, V>();
  #older = new Map<K, V>();
  /** The weight of the newer generation. */
  #size = 0;

  constructor({ maxSize, weigh = () => 1, onForget }: BoundedMapOptions<V>) {
    this.#maxSize = maxSize;
    this.#weigh = weigh;
    this.#onForget = onForget;
  }

  /** Using an entry keeps it. */
  get(key: K): V | undefined {
    const value = this.#newer.get(key);
    if (value !== undefined) return value;
    const older = this.#older.get(key);
    if (older !== undefined) this.set(key, older);
    return older;
  }

  set(key: K, value: V): void {
    const known = this.#newer.get(key);
    if (known !== undefined) this.#size -= this.#weigh(known);
    else this.#older.delete(key);
    this.#newer.set(key, value);
    this.#size += this.#weigh(value);
    if (this.#size < this.#maxSize) return;
    if (this.#older.size > 0) this.#onForget?.(this.#older.size);
    this.#older = this.#newer;
    this.#newer = new Map();
    this.#size = 0;
  }

  delete(key: K): void {
    const value = this.#newer.get(key);
    if (value !== undefined) this.#size -= this.#weigh(value);
    this.#newer.delete(key);
    this.#older.delete(key);
  }
}
