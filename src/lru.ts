/**
 * A bounded map: what was used longest ago is forgotten first. Two generations: when the newer is full the older goes, so it holds
 * at least `maxSize` entries and at most twice as many. (`quick-lru` works so too, and is 1 KiB gzip of a limiter's 12.)
 */

export class Lru<K, V> {
  readonly #maxSize: number;
  #newer = new Map<K, V>();
  #older = new Map<K, V>();

  /** @param maxSize entries, 1 or more. */
  constructor({ maxSize }: { readonly maxSize: number }) {
    this.#maxSize = maxSize;
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
    this.#older.delete(key);
    this.#newer.set(key, value);
    if (this.#newer.size < this.#maxSize) return;
    this.#older = this.#newer;
    this.#newer = new Map();
  }

  delete(key: K): void {
    this.#newer.delete(key);
    this.#older.delete(key);
  }

  clear(): void {
    this.#newer.clear();
    this.#older.clear();
  }
}
