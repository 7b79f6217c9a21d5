// What is only of Express, plain node:http and HTTP/2. ways-in.test.ts has what all ways in promise.

import { IncomingMessage, type RequestListener, ServerResponse, request as send } from "node:http";
import http2 from "node:http2";
import { type AddressInfo, connect, Socket } from "node:net";
import express, {
  type ErrorRequestHandler,
  type Express,
  type Request as ExpressRequest,
  type RequestHandler,
  Router,
} from "express";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { type ExpressOptions, rateLimit } from "../../src/adapters/express.ts";
import { withRateLimit } from "../../src/adapters/with-rate-limit.ts";
import { memoryStore } from "../../src/kernel/store/memory.ts";
import type { Limiter, LimiterOptions } from "../../src/limiter.ts";
import { fieldsOf } from "../support/cases/fields.ts";
import { createLimiter } from "../support/limiter.ts";
import { serve } from "../support/ways/express-way.ts";

type PolicyInput = LimiterOptions["policies"][number];

const limiterOf = (...policies: PolicyInput[]): Limiter => createLimiter({ policies, store: memoryStore() });
const policy = (name: string, limit: number, more: Partial<PolicyInput> = {}): PolicyInput =>
  ({ name, key: "global", limits: [{ limit, window: "1h" }], ...more }) as PolicyInput;
const slots = (limit: number): PolicyInput => policy("slots", limit, { limits: [{ algorithm: "concurrency", limit }] });

/** Sends the path as it is: `fetch` would resolve its dots. */
function sendRaw(url: string, path: string, headers: Record<string, string> = {}): Promise<IncomingMessage> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const request = send({ hostname, port, path, headers }, (response) => resolve(response.resume()));
    request.on("error", reject).end();
  });
}

/** An exchange without a server, as Node makes them of pipelined requests. */
function exchangeOver(socket: Socket): [IncomingMessage, ServerResponse] {
  const request = Object.assign(new IncomingMessage(socket), { method: "GET", url: "/" });
  return [request, new ServerResponse(request)];
}

const GLOBAL = { kind: "global", key: "global" };
const left = async (limiter: Limiter, name: string) => (await limiter.peek(name, GLOBAL)).remaining;

/** An Express app whose errors are not printed. */
function appOf(limiter: Limiter, options?: ExpressOptions<ExpressRequest>): Express {
  const app = express().set("env", "test");
  return app.use(rateLimit(limiter, options));
}

describe("every answer keeps its headers and gets ours", () => {
  const cookies = ["a=1", "b=2"];

  it.each<[what: string, status: number, answer: RequestHandler]>([
    ["json", 200, (_, res) => void res.set("X-Own", "1").json({})],
    ["writeHead with a list", 201, (_, res) => void res.writeHead(201, ["X-Own", "1", "Set-Cookie", cookies]).end()],
    ["writeHead with a reason", 201, (_, res) => void res.writeHead(201, "Made", { "X-Own": "1" }).end()],
    ["writeHead with pairs", 201, (_, res) => void res.writeHead(201, [["X-Own", "1"]] as never).end()],
    [
      "flushHeaders",
      200,
      (_, res) => {
        res.set("X-Own", "1").flushHeaders();
        res.end("late");
      },
    ],
    ["nothing but end", 200, (_, res) => void res.setHeader("X-Own", "1").end()],
    [
      "all fields removed",
      200,
      (_, res) => {
        for (const name of res.getHeaderNames()) res.removeHeader(name);
        res.setHeader("X-Own", "1").end();
      },
    ],
    ["an error of a handler", 500, () => Promise.reject(new Error("handler"))],
    ["no handler", 404, (_req, _res, next) => next()],
  ])("%s", async (_, status, answer) => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const app = appOf(limiterOf(policy("all", 100))).get("/", answer);
    const response = await fetch(await serve(app), { redirect: "manual" });
    expect(response.status).toBe(status);
    if (status < 400) expect(response.headers.get("X-Own")).toBe("1");
    expect(fieldsOf(response)).toMatchObject({ states: { all: { r: 99 } }, legacy: { limit: 100, remaining: 99 } });
    if (_ === "writeHead with a list") expect(response.headers.getSetCookie()).toEqual(cookies);
  });

  it.each<[what: string, answer: RequestHandler]>([
    ["status", (_, res) => void Object.assign(res, { statusCode: 20 }).end()],
    ["field", (_, res) => void res.writeHead(200, { "X-Own": "two\nlines" })],
  ])("one in place of a head with a wrong %s has them once, also with the fields that were set", async (_, answer) => {
    const keep: ErrorRequestHandler = (_error, _req, res, _next) => void res.status(500).end();
    const remove: ErrorRequestHandler = (_error, _req, res, _next) => {
      for (const name of res.getHeaderNames()) res.removeHeader(name);
      res.status(500).end();
    };
    for (const [onError, expected] of [
      [keep, /^a, "all";r=99;t=\d+$/],
      [remove, /^"all";r=99;t=\d+$/],
    ] as const) {
      const app = appOf(limiterOf(policy("all", 100))).use((_, res, next) => void next(void res.set("RateLimit", "a")));
      const { status, headers } = await fetch(await serve(app.use(answer, onError)));
      expect([status, headers.get("RateLimit")]).toEqual([500, expect.stringMatching(expected)]);
    }
  });
});

describe("a refusal", () => {
  const connection = ["connection", "date", "keep-alive", "transfer-encoding", "x-powered-by", "content-length"];
  const described = async (response: Response) => ({
    status: response.status,
    headers: [...response.headers].filter(([name]) => !connection.includes(name)),
    body: await response.text(),
  });

  it.each([
    ["for a program", {}],
    ["for a browser", { Accept: "text/html" }],
    ["for a page of another origin", { Origin: "https://page.example" }],
  ])("%s is that of withRateLimit", async (_, headers) => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const policies = policy("one", 1);
    const url = await serve(appOf(limiterOf(policies)).get("/", (_req, res) => void res.end()));
    const wrapped = withRateLimit(() => new Response(), limiterOf(policies));
    const theirs = () => wrapped.fetch(new Request(url, { headers }), undefined, { waitUntil() {} });
    const ours = () => fetch(url, { headers });
    await Promise.all([theirs(), ours()]);
    const refused = await described(await ours());
    expect(refused).toEqual(await described(await theirs()));
    expect(refused.status).toBe(429);
  });

  it("has no body for HEAD, and leaves the connection to the next request", async () => {
    const server = express()
      .use(rateLimit(limiterOf(policy("one", 1))))
      .post("/", (_, res) => void res.end());
    const url = new URL(await serve(server));
    const socket = connect(Number(url.port), url.hostname);
    onTestFinished(() => void socket.destroy());
    const ask = (method: string, body = "") =>
      socket.write(`${method} / HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    let answers = "";
    socket.on("data", (chunk) => (answers += String(chunk)));
    for (const [i, method] of ["GET", "POST", "HEAD", "POST"].entries()) {
      ask(method, method === "POST" ? "x".repeat(100_000) : "");
      await vi.waitFor(() => expect(answers.split("HTTP/1.1 ")).toHaveLength(i + 2));
    }
    const [, , , head] = answers.split(/(?=HTTP\/1\.1 )/).slice(-5);
    expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(
      ["404", "429", "429", "429"].map((status) => `HTTP/1.1 ${status}`),
    );
    expect(answers.split(/(?=HTTP\/1\.1 )/)[2]).toMatch(/\r\n\r\n$/);
    expect(head).toContain("quota-exceeded");
  });

  it("keeps the fields of earlier middleware, but not those about the answer", async () => {
    const app = express().use((_req, res, next) => {
      res.set({ "Access-Control-Allow-Origin": "https://page.example", Vary: "Origin", "X-Request-Id": "7" });
      res.set({ "Content-Type": "text/plain", ETag: '"a"', "Cache-Control": "max-age=60" });
      res.cookie("a", "1").cookie("b", "2");
      next();
    });
    app.use(rateLimit(limiterOf(policy("one", 1))));
    const url = await serve(app);
    await fetch(url);
    const refused = await fetch(url, { headers: { Origin: "https://page.example" } });
    expect(Object.fromEntries(refused.headers)).toMatchObject({
      "access-control-allow-origin": "https://page.example",
      "cache-control": "no-store",
      "content-type": "application/problem+json",
      vary: "Accept, Origin",
      "x-request-id": "7",
    });
    expect(refused.headers.has("ETag")).toBe(false);
    expect(refused.headers.getSetCookie()).toEqual(["a=1; Path=/", "b=2; Path=/"]);
  });

  it("does not disturb an answer that another middleware has begun", async () => {
    const limiter = limiterOf(policy("one", 1));
    const limit = rateLimit(limiter);
    const next = vi.fn();
    const url = await serve((req, res) => {
      limit(req, res, next);
      res.writeHead(503).end("too slow");
    });
    for (const _ of [1, 2]) expect(await (await fetch(url)).text()).toBe("too slow");
    expect(next).not.toHaveBeenCalled();
  });
});

describe("what is matched", () => {
  it("is the path that the client has sent, wherever the middleware is mounted", async () => {
    const router = Router().use(rateLimit(limiterOf(policy("item", 1, { match: { path: "/api/v1/items" } }))));
    router.get("/items", (req, res) => void res.json([req.url, req.rateLimit?.remaining]));
    const url = await serve(express().use("/api", Router().use("/v1", router)));
    expect(await (await fetch(`${url}/api/v1/items?a=b`)).json()).toEqual(["/items?a=b", 0]);
    expect((await fetch(`${url}/api/v1/ITEMS/`)).status).toBe(429);
    expect((await fetch(`${url}/api/v1/others`)).status).toBe(404);
  });

  it.each([
    ["/login", "as it is"],
    ["/x/../login", "as a handler behind the app may resolve it"],
    ["/x/%2E%2e/login", "in other spellings"],
    ["/files/../x", "as Express routes it"],
    ["/files/..\\x", "with a backslash"],
    ["http://other.example/login?a", "in a whole URL"],
    ["//login", "with two slashes"],
  ])("%s: %s", async (path) => {
    const limiter = limiterOf(policy("some", 1, { match: { path: ["/login", "/files/*"] } }));
    const seen: string[] = [];
    const url = await serve(appOf(limiter).use((req, res) => void res.end(seen.push(req.originalUrl))));
    for (const host of ["app.example", "x/public?", "a b", "evil@login", "[", ""]) {
      const answer = await sendRaw(url, path, { Host: host });
      expect([host, answer.headers["ratelimit-policy"]]).toEqual([host, '"some";q=1;w=3600']);
    }
    // It was sent as it is.
    expect(seen).toEqual([path]);
  });

  it.each(["/public", "/public/%2e/x", "*"])("%s is not", async (path) => {
    const url = await serve(
      appOf(limiterOf(policy("some", 1, { match: { path: "/login" } }))).use((_, res) => void res.end()),
    );
    expect((await sendRaw(url, path)).headers["ratelimit-policy"]).toBeUndefined();
  });

  it("costs what the dearer reading costs", async () => {
    const cost = [
      { path: "/files/*", cost: 5 },
      { path: "/login", cost: 2 },
    ];
    const url = await serve(appOf(limiterOf(policy("some", 100, { cost }))).use((_, res) => void res.end()));
    expect((await sendRaw(url, "/files/../login")).headers["x-ratelimit-remaining"]).toBe("95");
  });
});

describe("the address of", () => {
  const policies = policy("one", 1, { key: "ip" });

  it("the connection is counted, and no field of the client", async () => {
    const url = await serve(appOf(limiterOf(policies), { clientIp: "socket" }).use((_, res) => void res.end()));
    expect((await fetch(url)).status).toBe(200);
    for (const name of ["X-Forwarded-For", "CF-Connecting-IP"]) {
      expect((await fetch(url, { headers: { [name]: "192.0.2.9" } })).status).toBe(429);
    }
  });
});

describe("options", () => {
  it("name the property of a decision; without a name it is the tighter one of two", async () => {
    const app = appOf(limiterOf(policy("outer", 9)));
    app.use(rateLimit(limiterOf(policy("inner", 3))), rateLimit(limiterOf(policy("own", 2)), { property: "own" }));
    app.use((req, res) => {
      const { own, rateLimit } = req as unknown as Record<string, { remaining?: number }>;
      res.json([own?.remaining, rateLimit?.remaining]);
    });
    expect(await (await fetch(await serve(app))).json()).toEqual([1, 2]);
  });

  const metered = policy("tokens", 100, { key: "bearer", meter: { unit: "tokens" } });

  it.each<[what: string, of: PolicyInput, options: object, message: RegExp]>([
    ["a meter", metered, {}, /policy tokens has a meter.*expected a policy without one/],
    ["a region", policy("a", 1), { region: "eu" }, /unknown option region/],
    ["a property without a name", policy("a", 1), { property: "" }, /property: expected/],
  ])("%s is refused when the middleware is made", (_, of, options, message) => {
    const make = () => rateLimit(limiterOf(of), options);
    expect(make).toThrow(TypeError);
    expect(make).toThrow(message);
  });
});

describe("under a policy that counts failures", () => {
  const login = policy("login", 1, { count: "failures" });

  it.each<[what: string, remaining: number, answer: RequestHandler]>([
    ["so does a status that was set", 0, (_, res) => void res.status(401).end()],
    ["an answer that cannot be written is one", 0, (_, res) => void Object.assign(res, { statusCode: 20 }).end()],
    ["an exception is a failure", 0, () => Promise.reject(new Error("handler"))],
    ["a connection that ends without a status is nobody knows what", 0, (_, res) => void res.destroy()],
  ])("%s", async (_, remaining, answer) => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const limiter = limiterOf(login);
    const url = await serve(appOf(limiter).use(answer));
    await fetch(url).catch(() => {});
    await vi.waitFor(async () => expect(await left(limiter, "login")).toBe(remaining));
  });
});

describe("slots are held until", () => {
  /** Answers when `finish` is called. */
  function slowly(limiter: Limiter) {
    const limit = rateLimit(limiter);
    const waiting: (() => void)[] = [];
    const listener: RequestListener = (req, res) =>
      limit(req, res, () => {
        res.write("begun");
        waiting.push(() => void res.end());
      });
    return { listener, waiting };
  }

  it.each<[string, (res: ServerResponse) => void, number]>([
    ["with a body", (res) => res.end("late"), 5_000],
    ["without one", (res) => res.end(), 5_000],
    ["never", () => {}, 20_000],
  ])("the handler of a client that has left ends its answer %s, at most 20 s later", async (_, end, freeMs) => {
    const limiter = limiterOf(slots(1));
    const [request, response] = exchangeOver(new Socket());
    await new Promise<void>((resolve) => rateLimit(limiter)(request, response, () => resolve()));
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    setTimeout(() => end(response), 5_000);
    response.emit("close");
    await vi.advanceTimersByTimeAsync(freeMs - 1);
    expect(await left(limiter, "slots")).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    expect([await left(limiter, "slots"), vi.getTimerCount()]).toEqual([1, 0]);
  });

  it.each(["while the handlers run", "who did not wait for the decisions"])(
    "the client has left, %s, and no answer but its first was ever told (pipelining on Node 20)",
    async (when) => {
      const onDecision = vi.fn();
      const limiter = createLimiter({ policies: [slots(30)], store: memoryStore(), onDecision });
      const free = () => left(limiter, "slots");
      const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
      const socket = new Socket();
      const next = vi.fn();
      const limit = rateLimit(limiter);
      const responses: ServerResponse[] = [];
      for (let i = 0; i < 30; i++) {
        const [request, response] = exchangeOver(socket);
        responses.push(response);
        limit(request, response, next);
      }
      const isEarly = when === "who did not wait for the decisions";
      if (isEarly) socket.destroy();
      await vi.waitFor(() => expect(onDecision).toHaveBeenCalledTimes(30));
      if (!isEarly) expect(await free()).toBe(0);
      socket.destroy();
      if (!isEarly) {
        // The handlers still work.
        await new Promise((resolve) => setImmediate(resolve));
        expect(await free()).toBe(0);
        for (const response of responses) response.end("late");
      }
      await vi.waitFor(async () => expect(await free()).toBe(30));
      expect(next).toHaveBeenCalledTimes(isEarly ? 0 : 30);
      expect(warned).not.toHaveBeenCalled();
    },
  );

  it("the stream of HTTP/2 has ended, or was cancelled", async () => {
    const { listener, waiting } = slowly(limiterOf(slots(1)));
    const server = http2.createServer((req, res) => listener(req as never, res as never));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const client = http2.connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    onTestFinished(() => {
      client.destroy();
      server.close();
    });
    const ask = () => {
      const stream = client.request({ ":path": "/" });
      const head = new Promise<http2.IncomingHttpHeaders>((resolve) => stream.on("response", resolve));
      stream.resume();
      return { stream, head };
    };
    const first = ask();
    expect(await first.head).toMatchObject({
      ":status": 200,
      "ratelimit-policy": '"slots";q=1;qu="concurrent-requests"',
    });
    expect((await ask().head)[":status"]).toBe(429);
    waiting[0]!();
    await vi.waitFor(async () => {
      const { stream, head } = ask();
      const { ":status": status } = await head;
      stream.close(http2.constants.NGHTTP2_CANCEL);
      expect(status).toBe(200);
    });
    await vi.waitFor(async () => expect((await ask().head)[":status"]).toBe(200));
  });
});

it("a request that a leaky bucket delays is forgotten when its client leaves", async () => {
  const limits = [{ algorithm: "leaky-bucket", limit: 1, window: "1m", burst: 1, maxDelay: "60s" }] as const;
  const onDecision = vi.fn();
  const limiter = createLimiter({ policies: [policy("drip", 1, { limits })], store: memoryStore(), onDecision });
  const handler = vi.fn<RequestHandler>((_, res) => void res.end());
  const closed = vi.fn();
  const app = express().use((_, res, next) => void next(void res.on("close", closed)));
  const url = await serve(app.use(rateLimit(limiter), handler));
  await fetch(url);
  const left = new AbortController();
  const delayed = fetch(url, { signal: left.signal }).catch((error: Error) => error.name);
  await vi.waitFor(() => expect(onDecision).toHaveBeenCalledTimes(2));
  expect(onDecision.mock.calls[1]![0]).toMatchObject({ allowed: true, delayMs: expect.any(Number) });
  left.abort();
  expect(await delayed).toBe("AbortError");
  await vi.waitFor(() => expect(closed).toHaveBeenCalledTimes(2));
  expect(handler).toHaveBeenCalledTimes(1);
});

it.each<[key: string, headers: Record<string, string[]>, path?: string]>([
  ["bearer", { Authorization: ["Bearer ann", "Bearer 7"] }],
  ["bearer", { Authorization: ["Bearer ann 7"] }],
  ["cookie:sid", { Cookie: ["sid=%61nn", "sid=7"] }],
  ["query:user", {}, "/?user=ann&user=7"],
])("what is counted of %s in %j %s is what Node reads", async (kind, headers, path = "/") => {
  const limiter = limiterOf(policy("one", 9, { key: kind as PolicyInput["key"] }));
  vi.spyOn(console, "warn").mockImplementation(() => {});
  const url = await serve(appOf(limiter, { clientIp: "socket" }));
  await sendRaw(url, path, headers as never);
  expect((await limiter.peek("one", { kind, key: "ann", cost: 0 })).remaining).toBe(8);
});

it("handlers read what was counted: the query parameter, and no credential that was sent twice", async () => {
  const limiter = limiterOf(policy("one", 1, { key: ["query:user", "header:x-api-key", "ip"] }));
  const router = Router().use(rateLimit(limiter, { clientIp: "socket" }));
  const app = express().use("/api", router);
  app.get("/api/x", (req, res) => void res.json([req.query, req.url, req.headers["x-api-key"]]));
  const url = await serve(app);
  const seen = await (await fetch(`${url}/api/x?user=1&us%65r=ann&x=1`)).json();
  expect(seen).toEqual([{ user: "1", x: "1" }, "/api/x?user=1&x=1", null]);
  expect((await fetch(`${url}/api/x?user=1`)).status).toBe(429);
  const keys = [
    ["X-Api-Key", "a"],
    ["X-Api-Key", "b"],
  ] as [string, string][];
  expect(await (await fetch(`${url}/api/x`, { headers: keys })).json()).toEqual([{}, "/api/x", null]);
  expect((await limiter.peek("one", { kind: "ip", key: "127.0.0.1", cost: 0 })).remaining).toBe(0);
});
