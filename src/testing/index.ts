/** `headgate/testing`: the suite that every store must pass, and a clock that tests move. */

export { type FakeClock, fakeClock, storeAt } from "./clock.ts";
export { describeStore } from "./describe-store.ts";
export type { StoreUnderTest } from "./store-case.ts";
