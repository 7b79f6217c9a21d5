/** The Worker: one gateway for each isolate, built by the first request, because bindings arrive with it. */

import type { Bindings } from "./config/settings.ts";
import { gatewayOf } from "./gateway.ts";

export { type PlainDecision, RateLimitService, type ServiceOptions } from "./service.ts";
export type { Bindings };

/** The gateway: configured by its bindings, as README.md describes them. */
export default {
  fetch: (request, env, ctx) => gatewayOf(env).fetch(request, env, ctx),
} satisfies ExportedHandler<Bindings>;
