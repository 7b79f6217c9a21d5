// A Worker that test/gateway/metrics.long.test.ts bundles: a gateway whose STATS runs in another process, the one of
// stats-worker.ts.

import { gatewayOf } from "../../src/gateway.ts";
import type { Bindings } from "../../src/kernel/config/settings.ts";
import type { Batch } from "../../src/operate/stats/batch.ts";

interface Env extends Bindings {
  readonly FAR: Fetcher;
}

let bound: Bindings | undefined;

export default {
  fetch(request: Request, env: Env, ctx: ExecutionContext) {
    bound ??= { ...env, STATS: farObject(env.FAR) };
    return gatewayOf(bound).fetch(request, bound, ctx);
  },
};

function farObject(far: Fetcher) {
  return {
    idFromName: (name: string) => name,
    get: () => ({
      async add(batch: Batch): Promise<void> {
        const answer = await far.fetch("http://object/add", { method: "POST", body: JSON.stringify(batch) });
        if (!answer.ok) throw new Error(`status ${answer.status}`);
      },
    }),
  };
}
