/** The Worker: one gateway for each isolate, built by the first request, because bindings arrive with it. */

import type { Hono } from "hono";
import type { Bindings } from "./config/settings.ts";
import { createGateway } from "./gateway.ts";

const gateways = new WeakMap<Bindings, Hono>();

export default {
  fetch(request, env, ctx) {
    let gateway = gateways.get(env);
    if (!gateway) {
      gateway = createGateway(env);
      gateways.set(env, gateway);
    }
    return gateway.fetch(request, env, ctx);
  },
} satisfies ExportedHandler<Bindings>;
