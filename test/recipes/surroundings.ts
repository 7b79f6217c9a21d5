// What a recipe needs around it: the server behind its gateway, secrets, and variables of the reader's shell.

import type { RequestListener, Server } from "node:http";
import { WebSocketServer } from "ws";
import { AUDIENCE, jwkOf, pairOf, tokenOf, withKeys } from "../support/issuer.ts";

export interface Surroundings {
  /** The server that gets all that the gateway or the Worker sends, whatever its host. Default: it says Hello. */
  readonly answer?: RequestListener;
  /** What else it does. */
  readonly more?: (server: Server) => void;
  /** Secrets of the gateway or the Worker. */
  readonly vars?: Readonly<Record<string, unknown>>;
  /** Files of the examples that the page shows. `npm run test:examples` runs them, with packages that are not here. */
  readonly files?: readonly string[];
  /** Variables of the reader's shell, and of programs. A program also gets `ORIGIN`, the URL of the server. */
  readonly env?: Readonly<Record<string, string>>;
}

const KEYS = pairOf("1", "ES256");

/** A signed token of the issuer that the recipes name. It lives for an hour. */
function token(claims: object): string {
  const standard = { iss: "https://id.example.com", aud: AUDIENCE, exp: Math.floor(Date.now() / 1_000) + 3_600 };
  return tokenOf(KEYS, { alg: KEYS.alg, kid: KEYS.kid }, { ...standard, ...claims });
}

/** The issuer's key set, and the origin beside it. */
const withKeySet: RequestListener = (request, response) =>
  request.url === "/jwks.json" ? withKeys(jwkOf(KEYS))(response) : response.end("Hello!\n");

/** A language model that reports this usage. */
const withUsage =
  (prompt_tokens: number, completion_tokens: number): RequestListener =>
  (_, response) => {
    const usage = { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
    response.setHeader("Content-Type", "application/json").end(JSON.stringify({ choices: [], usage }));
  };

const PROVIDER_KEY = "sk-of-the-recipes";

/** A provider that refuses all other keys. */
const withKey =
  (key: string, answer: RequestListener): RequestListener =>
  (request, response) =>
    request.headers.authorization === `Bearer ${key}` ? answer(request, response) : response.writeHead(401).end();

const ADMIN_TOKEN = "t0ken-of-the-agents-platform-in-recipes";
const TAKE_TOKEN = "t0ken-of-the-programs-in-recipes";

/** By the name of the page. */
export const SURROUNDINGS: Readonly<Record<string, Surroundings>> = {
  "llm-tokens": { answer: withUsage(300, 1_000) },
  "llm-budget": {
    answer: withKey(PROVIDER_KEY, withUsage(500, 200)),
    env: { OPENAI_API_KEY: PROVIDER_KEY },
  },
  "agent-budget": {
    answer: withUsage(500, 200),
    vars: { ADMIN_TOKEN, PLATFORM_TOKEN: ADMIN_TOKEN },
    env: { HEADGATE_TOKEN: ADMIN_TOKEN, PLATFORM_TOKEN: ADMIN_TOKEN },
  },
  "other-languages": { vars: { TAKE_TOKEN }, env: { TAKE_TOKEN } },
  warnings: { env: { ALERT_SECRET: "a secret of thirty-two characters" } },
  next: { files: ["examples/next/proxy.ts"] },
  fastify: { files: ["examples/node-frameworks/fastify.mjs"] },
  koa: { files: ["examples/node-frameworks/koa.mjs"] },
  nestjs: { files: ["examples/node-frameworks/nestjs/main.ts"] },
  "workers-frameworks": {
    files: [
      ...["examples/astro/src/worker.js", "examples/astro/wrangler.toml"],
      ...["examples/sveltekit/src/limit.js", "examples/sveltekit/src/hooks.server.js"],
    ],
  },
  "call-a-limited-api": { answer: (_, response) => response.end("Sunny.\n") },
  user: { answer: withKeySet, env: { ANN: token({ sub: "ann" }), BOB: token({ sub: "bob" }) } },
  logins: {
    answer(request, response) {
      let form = "";
      request.on("data", (chunk) => {
        form += chunk;
      });
      request.on("end", () => response.writeHead(form.includes("password=guess") ? 401 : 200).end());
    },
  },
  connections: { more: (server) => void new WebSocketServer({ server }) },
  "cost-of-answers": {
    answer(request, response) {
      const rows = new URL(request.url!, "http://origin").searchParams.get("rows") ?? "0";
      response.setHeader("X-Cost", rows).end(`${rows} rows\n`);
    },
  },
  uploads: { answer: (request, response) => request.resume().on("end", () => response.end("Stored.\n")) },
  plans: { answer: withKeySet, env: { ANN: token({ sub: "ann", plan: "pro" }), BOB: token({ sub: "bob" }) } },
};
