/** The Worker: one gateway for each isolate. The first request builds it, because bindings arrive with requests. */

import type { Bindings } from "./config/settings.ts";
import { gatewayOf } from "./gateway.ts";

export { type PlainDecision, RateLimitService, type ServiceOptions } from "./service.ts";
export { HeadgateStats } from "./stats/object/stats.ts";
export { HeadgateCounts } from "./store/durable-object.ts";
export type { Bindings };

/** The gateway, configured by its bindings (docs/configuration.md). */
export default {
  fetch: (request, env, ctx) => gatewayOf(env).fetch(request, env, ctx),
} satisfies ExportedHandler<Bindings>;
