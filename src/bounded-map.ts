/**
 * A bounded map: what was used longest ago is forgotten first. Two generations: when the newer is full the older goes, so it holds
 * at least `maxSize` and at most twice as much, and the entry that was set last. (`quick-lru` works so too, without weights, and is
 * 1 KiB gzip of a limiter's 16.)
 */

export interface BoundedMapOptions<V> {
  /** 1 or more: of entries, or of what they weigh. */
  readonly maxSize: number;
  /** Above 0, and the same for as long as the value is there. Absent: 1 each. */
  readonly weigh?: (value: V) => number;
}

export class BoundedMap<K, V> {
  readonly #maxSize: number;
  readonly #weigh: (value: V) => number;
  #newer = new Map<K, V>();
  #older = new Map<K, V>();
  /** Of the newer. */
  #size = 0;

  constructor({ maxSize, weigh = () => 1 }: BoundedMapOptions<V>) {
    this.#maxSize = maxSize;
    this.#weigh = weigh;
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
    this.delete(key);
    this.#newer.set(key, value);
    this.#size += this.#weigh(value);
    if (this.#size < this.#maxSize) return;
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

  clear(): void {
    this.#newer.clear();
    this.#older.clear();
    this.#size = 0;
  }
}
