// A Worker that test/gateway/prometheus.long.test.ts bundles: the gateway, and beside it a way to hand batches on as an
// isolate does.

import type { Bindings } from "../../src/config/settings.ts";
import { gatewayOf } from "../../src/gateway.ts";
import type { Batch } from "../../src/stats/batch.ts";
import { statsDoor } from "../../src/stats/object/door.ts";

export { HeadgateStats } from "../../src/stats/object/stats.ts";

export default {
  async fetch(request: Request, env: Bindings & { readonly STATS: DurableObjectNamespace }, ctx: ExecutionContext) {
    if (new URL(request.url).pathname !== "/add") return await gatewayOf(env).fetch(request, env, ctx);
    await statsDoor({ namespace: env.STATS, flushMs: 30_000 })!.add((await request.json()) as Batch);
    return new Response(null, { status: 204 });
  },
};
