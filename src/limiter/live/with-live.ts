/** A store that can keep a live document, and what an isolate keeps of it. A memory store does not carry this file. */

import type { Store } from "../../store/store.ts";
import { createLiveReader, type LiveReader, type LiveReaderOptions } from "./reader.ts";

export interface StoreWithLive extends Store {
  /** Makes what one limiter of this isolate keeps of the document. */
  liveReader(options: Omit<LiveReaderOptions, "storage">): LiveReader;
}

/** Adds the reader of the live document to a store. Returns the same store if it keeps no document. */
export function withLive<T extends Store>(store: T): T | (T & StoreWithLive) {
  const { live: storage } = store;
  if (!storage) return store;
  return { ...store, liveReader: (options) => createLiveReader({ ...options, storage }) };
}
