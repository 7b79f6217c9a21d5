/** An admitted request of a leaky bucket goes on at its own time. */

import type { Feature } from "../../kernel/http/feature.ts";
import { sleep } from "../../kernel/sleep.ts";

export const delay: Feature = {
  name: "delay",
  isUsed: (policies) => policies.some(({ limits }) => limits.some(({ algorithm }) => algorithm === "leaky-bucket")),
  around: (inner) => ({
    async pass(passage) {
      const { delayMs } = passage.decision!;
      // Until the client goes away.
      if (delayMs && !passage.isGone()) await sleep(delayMs, passage.leaving()).catch(() => undefined);
      return await inner.pass(passage);
    },
  }),
};
