/** What a limiter asks of several places. The code behind it is carried only by programs that call `splitStore`. */

import type { Store } from "../../store/store.ts";
import type { Answered, Asked, PolicyKey } from "../decide.ts";

/** Decides in place of the limiter, and keeps what an isolate knows of each place. */
export interface Split {
  /** Never rejects because of a place: each policy says what happens while its place has no answer. */
  decide(keys: readonly PolicyKey[], asked: Asked): Promise<Answered>;
  /** @throws {StoreError} if one of the places does not answer; the others have forgotten the counts. */
  reset(keys: readonly string[]): Promise<void>;
}

/** Several places as one store. */
export interface StoreWithSplit extends Store {
  /** Makes what one limiter of this isolate keeps beside the places. */
  split(): Split;
}

/** What a limiter keeps beside these places. Undefined for a store that is one place. */
export function splitOf(store: Store): Split | undefined {
  return (store as Partial<StoreWithSplit>).split?.();
}
