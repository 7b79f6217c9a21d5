// A Worker that test/gateway/object-leased.long.test.ts bundles: its object counts the calls of `take`, and the Worker
// answers with their number.

import { HeadgateCounts as RealCounts } from "../../src/kernel/store/durable-object.ts";

export class HeadgateCounts extends RealCounts {
  #takes = 0;

  override async take(...args: Parameters<RealCounts["take"]>) {
    this.#takes++;
    return await super.take(...args);
  }

  async takes(): Promise<number> {
    return this.#takes;
  }
}

export default {
  async fetch(_request: Request, { COUNTS }: { readonly COUNTS: DurableObjectNamespace<HeadgateCounts> }) {
    return Response.json(await COUNTS.getByName("headgate:counts").takes());
  },
};
