/** A request over several places, in parts: what is asked of each place, and what comes back. */

import type { KeyRequest } from "../../core/take.ts";
import type { Isolate } from "../../isolate/isolate.ts";
import type { ReplySource } from "../../isolate/reply-source.ts";
import type { StoreFailure } from "../../store/failure.ts";
import type { KeysReply, PolicyKey } from "../decide.ts";

/** The keys of a request that lie in one place; in a Redis Cluster, those that lie in one of its slots. */
export interface Part {
  /** The position of the place. */
  readonly place: number;
  readonly isolate: Isolate;
  readonly keys: readonly PolicyKey[];
  /** The requests of `keys`, the same objects. */
  readonly requests: readonly KeyRequest[];
  /** The last number that the isolate had given away when the decision began. */
  readonly begun: number;
}

/** A reply to a part: of its place, or of the isolate's own counts while the place is silent. */
export interface PartReply extends KeysReply {
  readonly part: Part;
  readonly requests: readonly KeyRequest[];
  /** Where the reply comes from, and where it is undone. */
  readonly replies: Pick<ReplySource, "take">;
}

/** A place that had no answer. */
export interface Silence {
  readonly part: Part;
  readonly failure: StoreFailure;
}
