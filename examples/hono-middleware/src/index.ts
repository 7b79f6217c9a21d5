import { createLimiter, storeFromEnv } from "headgate";
import { rateLimit } from "headgate/hono";
import { Hono } from "hono";

const site = rateLimit((env) =>
  createLimiter({ policies: [{ name: "site", limits: [{ limit: 100, window: "1m" }] }], store: storeFromEnv(env) }),
);
const login = rateLimit((env) =>
  createLimiter({
    policies: [{ name: "login", limits: [{ algorithm: "sliding-log", limit: 2, window: "1m" }] }],
    store: storeFromEnv(env),
  }),
);

const app = new Hono();
app.use(site);
app.get("/", (c) => c.text("Hello!\n"));
app.post("/login", login, (c) => c.json({ left: c.get("rateLimit")?.remaining }));

export default app;
