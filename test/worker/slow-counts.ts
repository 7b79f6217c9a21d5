// A Worker that test/gateway/durable-object.test.ts bundles: its object begins every take when the Worker is told to.
// The Worker answers with the number of takes that wait for this.

import { HeadgateCounts as RealCounts } from "../../src/kernel/store/durable-object.ts";

export class HeadgateCounts extends RealCounts {
  readonly #waiting: (() => void)[] = [];

  override async take(...args: Parameters<RealCounts["take"]>) {
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return await super.take(...args);
  }

  async waiting(begins: boolean): Promise<number> {
    const { length } = this.#waiting;
    if (begins) for (const begin of this.#waiting.splice(0)) begin();
    return length;
  }
}

export default {
  async fetch({ url }: Request, { COUNTS }: { readonly COUNTS: DurableObjectNamespace<HeadgateCounts> }) {
    return Response.json(await COUNTS.getByName("headgate:counts").waiting(url.endsWith("/begin")));
  },
};
