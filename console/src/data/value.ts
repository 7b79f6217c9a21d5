/** A value that pages watch: whoever shows it is drawn again when it changes. */

import { useEffect, useState } from "preact/hooks";

export interface Value<T> {
  get(): T;
  set(value: T): void;
  subscribe(listener: () => void): () => void;
}

export function createValue<T>(value: T): Value<T> {
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

export function useValue<T>(value: Value<T>): T {
  const [, draw] = useState({});
  useEffect(() => value.subscribe(() => draw({})), [value]);
  return value.get();
}
