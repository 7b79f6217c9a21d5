/** `headgate/testing`: the suite that every store must pass, a clock that tests move, and isolates that forget. */

import type { StoreUnderTest } from "./store-case.ts";

export { type FakeClock, fakeClock, forgetIsolates, storeAt } from "./without-suite.ts";
export type { StoreUnderTest };

/** vitest is an optional peer. Other test runners have the clock, without the suite. */
const suite = await import("./describe-store.ts").catch((cause: unknown) => ({ cause }));

/**
 * Registers the contract suite of `headgate/testing` in a test file of vitest: a store that passes it can be given to
 * `createLimiter`. It tries the decision of every algorithm on stories that were computed exactly, atomicity, flags,
 * keys and clocks. Each test uses keys of its own, `headgate-test:…`, and they are removed at the end.
 *
 * The suite gives instants of its own to `take`, in no order between keys: a store must not remove other keys because
 * of such an instant.
 *
 * @throws {Error} if vitest is not installed.
 */
export function describeStore(tried: StoreUnderTest): void {
  if ("cause" in suite) throw new Error("describeStore: expected vitest 3, 4 or 5 to be installed", suite);
  suite.describeStore(tried);
}
