/** The gateway of src/ in front of an origin, as it is deployed. */

import { createGateway } from "../../src/gateway.ts";

let gateway;

export default {
  fetch(request, env, ctx) {
    gateway ??= createGateway(env);
    return gateway.fetch(request, env, ctx);
  },
};
