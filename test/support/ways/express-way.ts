/** Express on a real server, in front of a handler that takes a `Request`. */

import type { RequestListener } from "node:http";
import { Readable } from "node:stream";
import type { ReadableStream } from "node:stream/web";
import express, { type ErrorRequestHandler, type Request as ExpressRequest, type RequestHandler } from "express";
import { rateLimit } from "../../../src/adapters/express.ts";
import { startOrigin } from "../gateway/origin-server.ts";
import { limiterFor, optionsFor, type Seen, type Setup, type Way } from "./way.ts";

/** A server until the test ends. @returns its URL. */
export const serve = async (listener: RequestListener): Promise<string> => (await startOrigin(listener)).url;

const seenByExpress = (req: ExpressRequest): Seen => ({
  header: (name) => req.get(name),
  path: req.originalUrl,
  json: async () => req.body as unknown,
});

const handledBy =
  (handler: Setup["handler"]): RequestHandler =>
  async (req, res) => {
    const parsed: unknown = req.body;
    const hasBody = req.method !== "GET" && req.method !== "HEAD";
    const body = parsed === undefined ? (Readable.toWeb(req) as BodyInit) : JSON.stringify(parsed);
    const headers = Object.entries(req.headers) as [string, string][];
    const init = { method: req.method, headers, ...(hasBody && { body, duplex: "half" }) };
    const answer = await handler(new Request(`https://ways.example${req.url}`, init as RequestInit));
    res.writeHead(answer.status, Object.fromEntries(answer.headers));
    res.flushHeaders();
    if (answer.body) Readable.fromWeb(answer.body as ReadableStream).pipe(res);
    else res.end();
  };
const onError: ErrorRequestHandler = (error, _req, res, _next) => void res.status(500).send(String(error));

export const EXPRESS: Way = {
  name: "headgate/express",
  without: {
    "an answer to the gone": "nobody reads it: express.test.ts looks at what is held",
    "the clock of a test": "real sockets do not wait for it: express.test.ts delays a request",
    background: "Node goes on without a list of work: express.test.ts looks at what is held",
    "the bytes of a body": "a parser in front has read them: test/features/rpc/ways-in.test.ts",
  },
  async make(setup) {
    const app = express();
    // What a program's functions read of a body, a parser in front of them has read.
    if (setup.options || setup.readsBodies) app.use(express.json());
    const body = (req: ExpressRequest): unknown => req.body;
    const options = { ...optionsFor(setup, seenByExpress), ...(setup.readsBodies && { body }) };
    app.use(rateLimit(limiterFor(setup), { clientIp: "socket", ...options }));
    if (setup.inner) app.use(rateLimit(limiterFor({ policies: setup.inner }), { clientIp: "socket" }));
    const url = await serve(app.use(handledBy(setup.handler), onError));
    return async (path = "/", init) => await fetch(url + path, { redirect: "manual", ...init });
  },
};
