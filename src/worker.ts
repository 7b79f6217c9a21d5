/** The Worker: one gateway for each isolate. The first request builds it, because bindings arrive with requests. */

import { gatewayOf } from "./gateway.ts";
import type { Bindings } from "./kernel/config/settings.ts";

export { HeadgateCounts } from "./kernel/store/durable-object.ts";
export { HeadgateStats } from "./operate/stats/object/stats.ts";
export { type PlainDecision, RateLimitService, type ServiceOptions } from "./service.ts";
export type { Bindings };

/** The gateway, configured by its bindings (docs/configuration.md). */
export default {
  fetch: (request, env, ctx) => gatewayOf(env).fetch(request, env, ctx),
} satisfies ExportedHandler<Bindings>;
