/** A minimal Worker without a limiter. It does what every limiter with header fields must do: it adds five fields. */

import { Hono } from "hono";

/** @param {Response} answer is copied: a Response of a fetch cannot be changed, so limiters copy it too. */
export function withFields(answer) {
  const told = new Response(answer.body, answer);
  told.headers.append("RateLimit-Policy", '"default";q=1000000000;w=3600');
  told.headers.append("RateLimit", '"default";r=999999999;t=3600');
  told.headers.set("X-RateLimit-Limit", "1000000000");
  told.headers.set("X-RateLimit-Remaining", "999999999");
  told.headers.set("X-RateLimit-Reset", "1800000000");
  return told;
}

const app = new Hono();
app.all("*", (c) => withFields(c.text("ok")));
export default app;
