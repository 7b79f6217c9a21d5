import { createLimiter, memoryStore, redisStore } from "headgate";
import { rateLimit } from "headgate/hono";
import { Hono } from "hono";

interface Bindings {
  readonly UPSTASH_REDIS_REST_URL?: string;
  readonly UPSTASH_REDIS_REST_TOKEN?: string;
}

function storeOf({ UPSTASH_REDIS_REST_URL: url, UPSTASH_REDIS_REST_TOKEN: token }: Bindings) {
  return url && token ? redisStore({ url, token }) : memoryStore();
}

const site = rateLimit<{ Bindings: Bindings }>((env) =>
  createLimiter({ policies: [{ name: "site", limits: [{ limit: 100, window: "1m" }] }], store: storeOf(env) }),
);
const login = rateLimit<{ Bindings: Bindings }>((env) =>
  createLimiter({ policies: [{ name: "login", limits: [{ limit: 2, window: "1m" }] }], store: storeOf(env) }),
);

const app = new Hono<{ Bindings: Bindings }>();
app.use(site);
app.get("/", (c) => c.text("Hello!\n"));
app.post("/login", login, (c) => c.json({ left: c.get("rateLimit")?.remaining }));

export default app;
