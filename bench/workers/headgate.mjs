/** The gateway of src/, with a minimal origin in the same Worker. */

import { createGateway } from "../../src/gateway.ts";

const ORIGIN = {
  fetch: async () =>
    new Response("ok", { headers: { "Content-Type": "text/plain;charset=UTF-8", "Content-Length": "2" } }),
};
let gateway;

export default {
  fetch(request, env, ctx) {
    gateway ??= createGateway({ ...env, ORIGIN });
    return gateway.fetch(request, env, ctx);
  },
};
