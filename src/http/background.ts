/** Where the work of a request may go on after its answer. */

import type { Context } from "hono";
import type { Background } from "../limiter.ts";

/** It asks for the context only when there is work: a gateway that is called without one still answers. */
export function backgroundOf(c: Pick<Context, "executionCtx">): Background {
  return { waitUntil: (work) => c.executionCtx.waitUntil(work) };
}
