/** Where the work of a request may go on after its answer. */

import type { Context } from "hono";
import type { Background } from "../place/taker.ts";

/**
 * It asks for the context only when there is work. A gateway that is called without one still answers: its work then
 * goes on by itself.
 */
export function backgroundOf(c: Pick<Context, "executionCtx">): Background {
  return {
    waitUntil(work) {
      let context: Background;
      try {
        context = c.executionCtx;
      } catch {
        return;
      }
      context.waitUntil(work);
    },
  };
}
