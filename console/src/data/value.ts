/** A value that pages watch: whoever shows it is drawn again when it changes. */

import { useLayoutEffect, useState } from "preact/hooks";

export interface Watched<T> {
  get(): T;
  set(value: T): void;
  subscribe(listener: () => void): () => void;
}

export function createValue<T>(value: T): Watched<T> {
  const listeners = new Set<() => void>();
  return {
    get: () => value,
    set(next) {
      if (Object.is(next, value)) return;
      value = next;
      for (const listener of [...listeners]) listener();
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

export function useValue<T>(value: Watched<T>): T {
  const [, draw] = useState({});
  // Before the next frame: a value that is set until then would not be drawn.
  useLayoutEffect(() => value.subscribe(() => draw({})), [value]);
  return value.get();
}
