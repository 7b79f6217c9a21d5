// A Worker that test/gateway/prometheus.long.test.ts bundles: the gateway, and beside it a way to hand batches on as an
// isolate does.

import { gatewayOf } from "../../src/gateway.ts";
import type { Bindings } from "../../src/kernel/config/settings.ts";
import type { Batch } from "../../src/operate/stats/batch.ts";
import { statsDoor } from "../../src/operate/stats/object/door.ts";

export { HeadgateStats } from "../../src/operate/stats/object/stats.ts";

export default {
  async fetch(request: Request, env: Bindings & { readonly STATS: DurableObjectNamespace }, ctx: ExecutionContext) {
    if (new URL(request.url).pathname !== "/add") return await gatewayOf(env).fetch(request, env, ctx);
    await statsDoor({ namespace: env.STATS, flushMs: 30_000 })!.add((await request.json()) as Batch);
    return new Response(null, { status: 204 });
  },
};
