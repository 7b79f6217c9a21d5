/** A minimal Worker without a limiter. */

import { Hono } from "hono";

const app = new Hono();
app.all("*", (c) => c.text("ok"));
export default app;
