/** `headgate/durable-object`: the class that a Worker exports, and the store that asks it. */

export type { CountsNamespace, LocationHint } from "./config/counts.ts";
export { type DurableObjectStoreOptions, durableObjectStore } from "./limiter/stores/durable-object-store.ts";
export { HeadgateCounts } from "./store/durable-object.ts";
