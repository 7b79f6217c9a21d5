// A Worker that test/gateway/durable-object.test.ts bundles: its object begins every take after 300 ms.

import { HeadgateCounts as RealCounts } from "../../src/store/durable-object.ts";

export class HeadgateCounts extends RealCounts {
  override async take(...args: Parameters<RealCounts["take"]>) {
    await scheduler.wait(300);
    return await super.take(...args);
  }
}

export default {};
