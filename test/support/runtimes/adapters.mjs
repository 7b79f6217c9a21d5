// One app, called as each platform calls it: the packed package with the real code of Hono's adapters. The tests copy
// this file beside both. In Node the app gets the events of the platforms; in Bun and in Deno it runs in their own
// server. For each platform this prints how often the limiter was made, by which store it counts, and the statuses of
// six requests under a limit of three.

import { createLimiter, storeFromEnv, withRateLimit } from "headgate";
import { rateLimit } from "headgate/hono";
import { Hono } from "hono";

const { Bun, Deno, process } = globalThis;
// Another one in each run: they may share a Redis.
const run = crypto.randomUUID().slice(0, 8);
const url = "https://app.example/items";
const own = new Set(["UPSTASH_REDIS_REST_URL", "UPSTASH_REDIS_REST_TOKEN", "REDIS_TIMEOUT_MS"]);
const variables = Object.fromEntries(Object.entries(process.env).filter(([name]) => own.has(name)));

/** Each gets `{ fetch }`. Its `ask` sends one request and resolves with the status. */
const PLATFORMS = Bun ? { bun } : Deno ? { deno } : { ...callingConventions(), node };

for (const [name, start] of Object.entries(PLATFORMS)) {
  for (const way of ["rateLimit", "withRateLimit"]) {
    const made = [];
    const limits = [{ algorithm: "sliding-log", limit: 3, window: "1h" }];
    const policies = [{ name: `${run}-${name}-${way}`.toLowerCase(), key: "global", limits }];
    const make = (env) => {
      const store = storeFromEnv(env);
      made.push(store.kind);
      return createLimiter({ policies, store });
    };
    const app = new Hono();
    if (way === "rateLimit") app.use(rateLimit(make));
    app.get("/items", (c) => c.text("ok"));
    const { ask, stop } = await start(way === "rateLimit" ? app : withRateLimit(app, make));
    const statuses = [];
    for (let n = 0; n < 6; n++) statuses.push(await ask());
    await stop?.();
    console.log(JSON.stringify({ platform: name, way, made, statuses }));
  }
}

function callingConventions() {
  const background = { waitUntil() {}, passThroughOnException() {} };
  return {
    // https://developers.cloudflare.com/pages/functions/api-reference/#eventcontext
    async pages(app) {
      const { handle } = await import("hono/cloudflare-pages");
      const onRequest = handle(app);
      const env = { ...variables, ASSETS: { fetch } };
      const event = () => ({
        request: new Request(url),
        functionPath: "/items",
        params: {},
        data: {},
        env,
        ...background,
      });
      return { ask: async () => (await onRequest(event())).status };
    },
    // An HTTP API of API Gateway, format 2.0:
    // https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html
    async lambda(app) {
      const { handle } = await import("hono/aws-lambda");
      const handler = handle(app);
      // What Hono reads of it. Each request brings objects of its own.
      const ask = async () => {
        const http = { method: "GET", path: "/items", sourceIp: "203.0.113.7" };
        const requestContext = { domainName: "app.example", http, requestId: crypto.randomUUID() };
        const headers = { host: "app.example" };
        const event = { version: "2.0", rawPath: "/items", rawQueryString: "", headers, requestContext };
        return (await handler(event, { awsRequestId: requestContext.requestId })).statusCode;
      };
      return { ask };
    },
    // https://docs.netlify.com/build/edge-functions/api/#netlify-specific-context-object
    async netlify(app) {
      const { handle } = await import("hono/netlify");
      const handler = handle(app);
      const context = () => ({ requestId: crypto.randomUUID(), ip: "203.0.113.7", geo: {}, ...background });
      return { ask: async () => (await handler(new Request(url), context())).status };
    },
    async vercel(app) {
      const { handle } = await import("hono/vercel");
      const handler = handle(app);
      return { ask: async () => (await handler(new Request(url))).status };
    },
    // Deno.serve passes an object of a class whose members are getters:
    // https://docs.deno.com/api/deno/~/Deno.ServeHandlerInfo
    async deno(app) {
      class ServeHandlerInfo {
        get remoteAddr() {
          return { transport: "tcp", hostname: "203.0.113.7", port: 50_000 };
        }
        get completed() {
          return Promise.resolve();
        }
      }
      return { ask: async () => (await app.fetch(new Request(url), new ServeHandlerInfo())).status };
    },
    // Bun.serve passes its server, always the same object: https://bun.com/docs/runtime/http/server
    async bun(app) {
      class Server {
        #requests = 0;
        get pendingRequests() {
          return ++this.#requests;
        }
        requestIP() {
          return { address: "203.0.113.7", family: "IPv4", port: 1 };
        }
      }
      const server = new Server();
      return { ask: async () => (await app.fetch(new Request(url), server)).status };
    },
  };
}

async function node(app) {
  const { serve } = await import("@hono/node-server");
  const server = serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" });
  await new Promise((resolve) => server.once("listening", resolve));
  const ask = statusOf(`http://127.0.0.1:${server.address().port}/items`);
  return { ask, stop: () => new Promise((resolve) => server.close(resolve)) };
}

function bun(app) {
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: app.fetch });
  return { ask: statusOf(new URL("/items", server.url)), stop: () => server.stop(true) };
}

function deno(app) {
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, app.fetch);
  return { ask: statusOf(`http://127.0.0.1:${server.addr.port}/items`), stop: () => server.shutdown() };
}

function statusOf(address) {
  return async () => {
    const answer = await fetch(address);
    await answer.arrayBuffer();
    return answer.status;
  };
}
