/**
 * The REST service in front of a run's private Redis. It does what scripts/bridge/bridge.ts does, and it adds a network
 * delay, loses replies and counts calls. Redis 7.0 refuses the first line of Upstash's scripts (`#!lua
 * flags=allow-key-locking`), so this service removes the line.
 */

import { hash } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { connectRedis } from "../../scripts/bridge/bridge-redis.ts";
import { type CommandLine, parseCommand, parsePipeline, RequestError } from "../../scripts/bridge/bridge-request.ts";

const TOKEN = "bench";
const KEY_LOCKING = /^#!lua flags=allow-key-locking\n/;

export interface Service {
  readonly url: string;
  readonly token: string;
  /** The requests so far whose path began with `/<name>`. A pipeline counts as one request. */
  calls(name: string): number;
  /** Waits until every request has been answered, and none has come for 20 ms. */
  idle(): Promise<void>;
  /** The delay to Redis and back, in ms, for requests from now on. */
  roundTripMs: number;
  /** After Redis has run every n-th call, its connection is closed before the reply. 0: no connection is closed. */
  loseEvery: number;
  /** What becomes of requests from now on. Unless they are served, they never reach Redis. */
  mode: "serves" | "is silent" | "closes connections";
  stop(): Promise<void>;
}

/** The clients of a run differ in the path of their URL: `<url>/<name>`. */
export async function startService(redisUrl: string): Promise<Service> {
  const redis = await connectRedis(redisUrl);
  const calls = new Map<string, number>();
  const shaOf = new Map<string, string>();
  let total = 0;
  let [arrived, open] = [0, 0];

  /** Changes a script for Upstash so that Redis 7.0 takes it. */
  function translate([name, first = "", ...rest]: CommandLine): CommandLine {
    const command = name.toLowerCase();
    if (command === "eval" && KEY_LOCKING.test(first)) {
      const text = first.replace(KEY_LOCKING, "");
      shaOf.set(hash("sha1", first), hash("sha1", text));
      return [name, text, ...rest];
    }
    return command === "evalsha" ? [name, shaOf.get(first) ?? first, ...rest] : [name, first, ...rest];
  }

  async function run(command: CommandLine | RequestError, base64: boolean) {
    if (command instanceof RequestError) return { status: command.status, body: { error: command.message } };
    return await redis.run(command.length > 1 ? translate(command) : command, base64);
  }

  async function answer(request: IncomingMessage): Promise<{ status: number; body: unknown }> {
    const [, name = "", path = ""] = request.url!.split("/");
    calls.set(name, (calls.get(name) ?? 0) + 1);
    const body = await new Response(request as unknown as BodyInit).text();
    const oneWayMs = service.roundTripMs / 2;
    if (oneWayMs > 0) await sleep(oneWayMs);
    const base64 = request.headers["upstash-encoding"] === "base64";
    const answered =
      path === "pipeline"
        ? {
            status: 200,
            body: (await Promise.all(parsePipeline(body).map((one) => run(one, base64)))).map((r) => r.body),
          }
        : await run(parseCommand(body), base64);
    if (oneWayMs > 0) await sleep(oneWayMs);
    return answered;
  }

  const server = createServer(async (request, response) => {
    if (service.mode === "closes connections") request.socket.destroy();
    if (service.mode !== "serves") return;
    const lost = service.loseEvery > 0 && ++total % service.loseEvery === 0;
    arrived++;
    open++;
    const { status, body } = await answer(request).catch((error) => ({ status: 500, body: { error: String(error) } }));
    open--;
    if (lost) return request.socket.destroy();
    const text = Buffer.from(JSON.stringify(body));
    response.writeHead(status, { "Content-Type": "application/json", "Content-Length": text.length }).end(text);
  });
  server.keepAliveTimeout = 120_000;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const service: Service = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    token: TOKEN,
    calls: (name) => calls.get(name) ?? 0,
    async idle() {
      let before: number;
      do {
        before = arrived;
        await sleep(20);
      } while (open > 0 || arrived > before);
    },
    roundTripMs: 0,
    loseEvery: 0,
    mode: "serves",
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      redis.close();
      await closed;
    },
  };
  return service;
}
