// The development REST bridge: it is for any Redis what Upstash's REST API is for Upstash, as far as `@upstash/redis`
// needs. Source: upstash.com/docs/redis/features/restapi. Status codes and texts are Upstash's where they are
// documented.

import { hash, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { connectRedis, type RunResult } from "./bridge-redis.ts";
import { type CommandLine, parseCommand, parsePipeline, RequestError } from "./bridge-request.ts";

/** Upstash's bound on a request, in bytes. A larger request gets status 413. */
const MAX_BODY_BYTES = 10 * 1024 * 1024;

interface BridgeOptions {
  /** A `redis://` or `rediss://` URL, with password and database number if needed. */
  redisUrl: string;
  /** The bearer token that clients must send. Must not be empty. */
  token: string;
  /** 0 to 65535. 0 or absent: any free port. */
  port?: number;
  /** The address to listen on. Default: 127.0.0.1. */
  host?: string;
}

interface Bridge {
  url: string;
  port: number;
  token: string;
  /** Whether Redis answered when the bridge started. If not, the bridge keeps trying in the background. */
  redisReachable: boolean;
  /** Closes the HTTP server with its connections, and the connection to Redis. */
  close(): Promise<void>;
}

/**
 * Starts a bridge, and resolves when it listens, even if Redis is down. Until Redis is up, every command gets status
 * 500.
 *
 * All requests share one connection to Redis, so commands that would change it for others are refused (400). A command
 * is written to Redis at most once, and every request is answered within a bounded time (see bridge-redis.ts). Throws
 * for a URL that is not Redis's, an empty token, or a port that is not free. The bridge speaks plain HTTP, so use it on
 * loopback only.
 */
export async function createBridge({ redisUrl, token, port = 0, host = "127.0.0.1" }: BridgeOptions): Promise<Bridge> {
  if (token === "") throw new TypeError("expected a bearer token, found an empty string");
  const expectedToken = digest(token);
  const redis = await connectRedis(redisUrl);

  async function answer(request: IncomingMessage): Promise<[status: number, body: unknown]> {
    if (!timingSafeEqual(digest(bearerToken(request)), expectedToken)) {
      return [401, { error: "WRONGPASS invalid or missing auth token" }];
    }
    const path = request.url?.split("?", 1)[0];
    if (path !== "/" && path !== "/pipeline" && path !== "/multi-exec") {
      return [404, { error: "ERR expected POST /, /pipeline or /multi-exec, found another path" }];
    }
    if (request.method !== "POST") return [405, { error: "ERR expected POST, found another method" }];
    const body = await readBody(request);
    const base64 = request.headers["upstash-encoding"] === "base64";
    if (path === "/") {
      const result = await runOne(parseCommand(body), base64);
      return [result.status, result.body];
    }
    if (path === "/multi-exec") {
      const result = await transact(parsePipeline(body, "transaction"), base64);
      return [result.status, result.body];
    }
    // Write all commands before awaiting the first reply, so that they reach Redis in order and together.
    const results = await Promise.all(parsePipeline(body).map((command) => runOne(command, base64)));
    const [first] = results;
    if (first && results.every((result) => result.status === 500)) return [500, first.body];
    return [200, results.map((result) => result.body)];
  }

  async function runOne(command: CommandLine | RequestError, base64: boolean): Promise<RunResult> {
    if (command instanceof RequestError) return { status: command.status, body: { error: command.message } };
    return redis.run(command, base64);
  }

  /** A command that is refused here discards the whole transaction, as a command that Redis refuses to queue does. */
  async function transact(commands: (CommandLine | RequestError)[], base64: boolean) {
    const refused = commands.find((command) => command instanceof RequestError);
    return refused ? runOne(refused, base64) : redis.transact(commands as CommandLine[], base64);
  }

  const server = createServer((request, response) => {
    answer(request)
      .catch((error): [number, unknown] => {
        if (error instanceof RequestError) return [error.status, { error: error.message }];
        return [500, { error: "ERR the bridge failed to handle the request" }];
      })
      .then(([status, body]) => send(response, status, body));
  });
  // Node's default of 5 s closes idle connections that a client may be about to use.
  server.keepAliveTimeout = 120_000;
  try {
    await new Promise<void>((resolve, reject) => server.once("error", reject).listen(port, host, resolve));
  } catch (error) {
    redis.close();
    throw error;
  }
  const address = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${address.port}`,
    port: address.port,
    token,
    redisReachable: redis.reachable,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      redis.close();
      await closed;
    },
  };
}

function send(response: ServerResponse, status: number, body: unknown): void {
  const text = Buffer.from(JSON.stringify(body));
  response.statusCode = status;
  response.setHeader("Content-Type", "application/json");
  response.setHeader("Content-Length", text.length);
  if (status === 405) response.setHeader("Allow", "POST");
  response.end(text);
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    // Read and drop the rest. If the connection closed while the client still writes, the client would lose the answer.
    if (bytes <= MAX_BODY_BYTES) chunks.push(chunk);
  }
  if (bytes > MAX_BODY_BYTES) {
    throw new RequestError(
      `ERR max request size exceeded. Limit: ${MAX_BODY_BYTES} bytes, Actual: ${bytes} bytes`,
      413,
    );
  }
  const [first] = chunks;
  return (chunks.length === 1 && first ? first : Buffer.concat(chunks)).toString();
}

function bearerToken(request: IncomingMessage): string {
  return /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? "")?.[1] ?? "";
}

/** All digests have the same length, so comparing them tells nothing about the token's length. */
function digest(token: string): Buffer {
  return hash("sha256", token, "buffer");
}
