/** `rpc` and `tool`: policies that look at what the body of a request calls. */

import { body } from "../../kernel/http/body.ts";
import type { InsideFeature } from "../../kernel/limiter/feature.ts";
import type { LimiterFeature } from "../../kernel/limiter/types.ts";
import { rpcFields } from "./fields.ts";
import { rpc as onTheWay } from "./on-the-way.ts";

/**
 * Lets policies have `rpc` and `tool` in `match`, `except` and `cost`: the methods of JSON-RPC and the tools of an MCP
 * server that a body calls. For `features` of `createLimiter`.
 */
export function rpc(): LimiterFeature {
  const feature: InsideFeature = { name: "rpc", fields: rpcFields, http: [body, onTheWay] };
  return feature;
}
