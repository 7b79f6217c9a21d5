import type { Store } from "../../store/store.ts";
import type { StoreWithLive } from "./with-live.ts";

/** Whether this store can keep a live document. */
export function isLiveStore(store: Store): store is StoreWithLive {
  return (store as Partial<StoreWithLive>).liveReader !== undefined;
}
