/**
 * Where a store keeps the live document: what operators change while the gateway runs (src/features/live). The storage
 * knows a text and its version, and nothing of what the text says.
 */

import type { TakeReply } from "../core/take.ts";

export interface LiveText {
  /** 1 or more; 0: there is no document. */
  readonly version: number;
  /** Undefined: there is no document. */
  readonly text: string | undefined;
}

export interface LiveStorage {
  /**
   * The document, in one call.
   *
   * @param known the version that the caller has read here. Then an answer without a text is smaller: undefined if the
   * document is still the same. Absent: the caller has none.
   * @param budgetMs how long it may take, in ms. Default: the store's own time budget.
   * @param namespace each namespace has a document of its own. Default: none, empty.
   * @throws {StoreError}
   */
  read(known?: number, budgetMs?: number, namespace?: string): Promise<LiveText | undefined>;
  /**
   * Replaces the document of this version; 0: there is none yet.
   *
   * @returns the new version, one more; undefined: somebody else was faster, and nothing was written.
   * @throws {StoreError}
   */
  write(text: string, version: number, namespace?: string): Promise<number | undefined>;
  /**
   * The version in the last reply to a take of this namespace, and its instant, in ms since the epoch. Absent: replies
   * have none.
   */
  replied?(namespace?: string): { readonly version: number; readonly atMs: number } | undefined;
}

/**
 * A reply as it crosses from an object to its caller, with the version of the live document; 0: there is none. What was
 * charged follows from the rest (`replyOf`), and is not sent.
 */
export type ReplyWithVersion = Omit<TakeReply, "charged"> & { readonly live: number };

/** The documents in this isolate's memory: for tests, and for a gateway with the memory store. */
export function memoryLive(): LiveStorage {
  const documents = new Map<string, LiveText>();
  const of = (namespace: string) => documents.get(namespace) ?? { version: 0, text: undefined };
  return {
    async read(known, _budgetMs, namespace = "") {
      const live = of(namespace);
      return known === live.version ? undefined : live;
    },
    async write(text, version, namespace = "") {
      if (version !== of(namespace).version) return undefined;
      documents.set(namespace, { version: version + 1, text });
      return version + 1;
    },
  };
}
