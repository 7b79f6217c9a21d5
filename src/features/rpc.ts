/** `rpc` and `tool`: policies that look at what the body of a request calls. */

import { rpcFields } from "../config/fields/rpc.ts";
import { body } from "../http/features/body.ts";
import { rpc as onTheWay } from "../http/features/rpc/rpc.ts";
import type { InsideFeature, LimiterFeature } from "../limiter/feature.ts";

/**
 * Lets policies have `rpc` and `tool` in `match`, `except` and `cost`: the methods of JSON-RPC and the tools of an MCP
 * server that a body calls. For `features` of `createLimiter`.
 */
export function rpc(): LimiterFeature {
  const feature: InsideFeature = { name: "rpc", fields: rpcFields, http: [body, onTheWay] };
  return feature;
}
