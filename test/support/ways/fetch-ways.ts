/** The ways in that take a `Request`: in Node, and in workerd. */

import { type Context, Hono } from "hono";
import { rateLimit } from "../../../src/adapters/hono.ts";
import { withRateLimit } from "../../../src/adapters/with-rate-limit.ts";
import { createGateway } from "../../../src/gateway.ts";
import { contextOf, DEAD_REDIS, limiterFor, optionsFor, requestTo, type Seen, type Send, type Way } from "./way.ts";

/** What Cloudflare says, elsewhere too. */
const CLIENT_IP = { header: "cf-connecting-ip" };

type WorkerContext = ReturnType<typeof contextOf>;
type Fetch = (request: Request, env: object, ctx: WorkerContext) => Response | Promise<Response>;
const NO_REDIS = { UPSTASH_REDIS_REST_URL: "", UPSTASH_REDIS_REST_TOKEN: "" };

const seenByRequest = (request: Request): Seen => ({
  header: (name) => request.headers.get(name) ?? undefined,
  path: new URL(request.url).pathname + new URL(request.url).search,
  json: () => request.json(),
});
const seenByHono = (c: Context): Seen => ({ ...seenByRequest(c.req.raw), json: () => c.req.json() });

const sendTo =
  (fetch: Fetch, ctx: WorkerContext): Send =>
  async (path, init) =>
    await fetch(requestTo(path, init), {}, ctx);

export const FETCH_WAYS: readonly Way[] = [
  {
    name: "the gateway",
    without: { options: "its configuration says all", "a second limiter": "it has one" },
    make(setup) {
      const { policies, handler, isRedisAway } = setup;
      const redis = isRedisAway ? DEAD_REDIS : NO_REDIS;
      const gateway = createGateway({
        ...{ ...redis, REDIS_TIMEOUT_MS: 10_000 },
        ...{ POLICIES: policies, ORIGIN: { fetch: async (request: Request) => await handler(request) } },
      });
      return sendTo(gateway.fetch as Fetch, contextOf(setup));
    },
  },
  {
    name: "withRateLimit",
    make(setup) {
      const { handler, inner } = setup;
      const options = optionsFor(setup, seenByRequest);
      const behind = inner
        ? withRateLimit(handler as never, limiterFor({ policies: inner }), { clientIp: CLIENT_IP })
        : handler;
      return sendTo(
        withRateLimit(behind as never, limiterFor(setup), { clientIp: CLIENT_IP, ...options }).fetch as never,
        contextOf(setup),
      );
    },
  },
  {
    name: "headgate/hono",
    make(setup) {
      const app = new Hono();
      app.use(rateLimit(limiterFor(setup), { clientIp: CLIENT_IP, ...optionsFor(setup, seenByHono) }));
      if (setup.inner) app.use(rateLimit(limiterFor({ policies: setup.inner }), { clientIp: CLIENT_IP }));
      app.all("*", (c) => setup.handler(c.req.raw));
      return sendTo(app.fetch as Fetch, contextOf(setup));
    },
  },
];
