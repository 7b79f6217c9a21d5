// One isolate, asked as its limiter asks it, about keys instead of policies.

import type { TakeReply, TakeRequest } from "../../src/core/take.ts";
import type { Isolate } from "../../src/isolate/isolate.ts";
import {
  type Background,
  type Consistency,
  type DecisionNotes,
  type Inquiry,
  type Taken,
  undo,
} from "../../src/isolate/taker.ts";
import { StoreError } from "../../src/store/store.ts";

export interface Told {
  readonly reply: TakeReply;
  readonly source: string;
  readonly taken: readonly Taken[];
  /** Another place has refused the request. */
  returnUnits(): Promise<void>;
}

export interface Asking {
  /** @throws {StoreError} the code alone, if the store has no answer. */
  take(
    request: Pick<TakeRequest, "keys" | "slot"> & { readonly flag: Inquiry["flag"] },
    background?: Background,
    consistency?: Consistency,
    notes?: DecisionNotes,
  ): Promise<Told>;
  /** Decides without the store if it has no answer. */
  orAlone(request: Pick<TakeRequest, "keys"> & { readonly flag: Inquiry["flag"] }): Promise<TakeReply>;
  reset(keys: readonly string[]): Promise<void>;
}

export function asking(isolate: Isolate): Asking {
  return {
    async take({ keys, flag, slot = 0 }, background, consistency = "leased", notes) {
      const lines = keys.map((request) => ({ request, onFailure: "deny" as const }));
      const answer = await isolate[consistency].take({ lines, flag, slot }, { background, notes });
      const { replies, source, taken, failure } = answer;
      if (failure) throw new StoreError(failure);
      return { reply: replies[0]!.reply, source, taken, returnUnits: () => undo(taken, {}) };
    },
    async orAlone({ keys, flag }) {
      const lines = keys.map((request) => ({ request, onFailure: "local" as const }));
      return (await isolate.strict.take({ lines, flag, slot: 0 }, {})).replies[0]!.reply;
    },
    reset: (keys) => isolate.strict.reset(keys),
  };
}
