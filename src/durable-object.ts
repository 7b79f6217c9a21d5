/** `headgate/durable-object`: the class that a Worker exports, and the store that asks it. */

export type { CountsNamespace, LocationHint } from "./kernel/config/counts.ts";
export { HeadgateCounts } from "./kernel/store/durable-object.ts";
export { type DurableObjectStoreOptions, durableObjectStore } from "./stores/durable-object-store.ts";
