/** The minimal Worker without a limiter. It adds the five fields that a limiter tells, here always the same. */

import { Hono } from "hono";

/** @param {Response} answer stays as it is: nobody can change the Response of a fetch, and a limiter copies it. */
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
