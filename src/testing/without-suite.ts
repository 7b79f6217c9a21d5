/** What `headgate/testing` has for every test runner. It is all of it in CommonJS, which cannot load vitest. */

export { forgetIsolates } from "../kernel/place/forget.ts";
export { type FakeClock, fakeClock, storeAt } from "./clock.ts";
