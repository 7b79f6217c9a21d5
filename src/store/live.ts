/**
 * Where a store keeps the live document: what operators change while the gateway runs (src/limiter/live). The storage
 * knows a text and its version, and nothing of what the text says.
 */

import type { TakeReply } from "../core/take.ts";

export interface LiveText {
  /** 1 or more; 0: there is no document. */
  readonly version: number;
  /** Undefined: there is no document. */
  readonly text: string | undefined;
  /** True: the document has moved to another place. This copy stays for isolates that do not know that place yet. */
  readonly moved?: true;
}

export interface LiveStorage {
  /**
   * The document, in one call.
   *
   * @param known the version that the caller has read here. Then an answer without a text is smaller: undefined if the
   * document is still the same. Absent: the caller has none.
   * @throws {StoreError} With the code `TIMEOUT`, its `timeout.answer` may still bring the document.
   */
  read(known?: number): Promise<LiveText | undefined>;
  /**
   * Replaces the document of this version; 0: there is none yet.
   *
   * @param next the version of the new text. Default: `version + 1`. A document that moves here keeps its version.
   * @returns the new version; undefined: somebody else was faster, and nothing was written.
   * @throws {StoreError}
   */
  write(text: string, version: number, next?: number): Promise<number | undefined>;
  /** The version in the last reply to a take, and its instant, in ms since the epoch. Absent: replies have none. */
  replied?(): { readonly version: number; readonly atMs: number } | undefined;
  /** Says that the document has moved from here to another place. @throws {StoreError} */
  leave?(): Promise<void>;
  /** Other places where the document may still lie. They are asked if there is none here. Absent: none. */
  readonly elsewhere?: readonly LiveCopy[];
}

/** A place where the document lay before. */
export interface LiveCopy extends Pick<LiveStorage, "read" | "leave"> {
  /** For the log: the name of the node, the key, or both. */
  readonly place: string;
}

/** A reply with the version of the live document; 0: there is none. */
export type ReplyWithVersion = TakeReply & { readonly live: number };

/** The document in this isolate's memory: for tests, and for a gateway with the memory store. */
export function memoryLive(): LiveStorage {
  let live: LiveText = { version: 0, text: undefined };
  return {
    read: async (known) => (known === live.version ? undefined : live),
    async write(text, version, next = version + 1) {
      if (version !== live.version) return undefined;
      live = { version: next, text };
      return next;
    },
  };
}
