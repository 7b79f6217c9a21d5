/** A minimal Worker in front of an origin, without a limiter. */

import { Hono } from "hono";

const app = new Hono();
app.all("*", (c) => {
  const { pathname, search } = new URL(c.req.url);
  return fetch(new Request(`${c.env.ORIGIN_URL}${pathname}${search}`, c.req.raw), { redirect: "manual" });
});
export default app;
