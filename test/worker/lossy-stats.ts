// A Worker that test/gateway/metrics.long.test.ts bundles: its object adds every batch, and loses the first reply to
// every second batch of an isolate.

import type { Rejected } from "../../src/kernel/store/rejected.ts";
import type { Batch } from "../../src/operate/stats/batch.ts";
import { HeadgateStats as RealStats } from "../../src/operate/stats/object/stats.ts";

export class HeadgateStats extends RealStats {
  readonly #lost = new Set<string>();

  override async add(batch: Batch): Promise<undefined | Rejected> {
    const answer = await super.add(batch);
    const name = `${batch.isolate} ${batch.number}`;
    if (batch.number % 2 === 0 || this.#lost.has(name)) return answer;
    this.#lost.add(name);
    throw new Error("lost");
  }
}

export default {};
