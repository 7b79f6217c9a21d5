// A process that has taken ends when its caller has nothing to wait for any more. Real processes on real clocks:
// nothing else shows what keeps one alive. The bounds are generous: a call that is under way may use its budget of
// 250 ms, and the timers of the background would take 2.25 s or more.

import { spawn } from "node:child_process";
import { createServer, type Server } from "node:net";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";

const ENTRY = fileURLToPath(new URL("../../../src/index.ts", import.meta.url));
const AFTER_MS = 1_500;
const BUDGET_MS = 250;

/** Takes once, and prints how it ended: what was awaited, and how long the process has lived after that, in ms. */
const program = (port: number, consistency: string, more: string, features: string) => `
  import { createLimiter, leases, live, redisStore, shared } from ${JSON.stringify(ENTRY)};
  const limiter = createLimiter({
    policies: [{ name: "a", key: "global", consistency: "${consistency}", limits: [{ limit: 5, window: "1m" }] }],
    features: [${features}],
    store: redisStore({ url: "http://127.0.0.1:${port}", token: "t", timeoutMs: ${BUDGET_MS}, onBreakerChange() {} }),
    onDecision() {},
  });
  const decision = await limiter.take("a", { background: { waitUntil() {} } });
  const begun = Date.now();
  ${more}
  const waitedMs = Date.now() - begun;
  process.on("exit", () => {
    console.log(JSON.stringify({ outcome: decision.outcome, waitedMs, afterMs: Date.now() - begun - waitedMs }));
  });
`;

interface Ended {
  readonly outcome: string;
  readonly waitedMs: number;
  readonly afterMs: number;
}

async function run(port: number, consistency: string, more = "", features = "leases(), shared()"): Promise<Ended> {
  const text = program(port, consistency, more, features);
  const child = spawn(process.execPath, ["--input-type=module", "-e", text], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let printed = "";
  child.stdout.on("data", (data) => (printed += String(data)));
  const code = await new Promise((resolve) => child.on("close", resolve));
  // 13: Node has ended although the program waited.
  expect(code).toBe(0);
  return JSON.parse(printed) as Ended;
}

let silent: Server;
const ports = { silent: 0, dead: 0 };

beforeAll(async () => {
  const listen = async (server: Server) => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return (server.address() as { readonly port: number }).port;
  };
  silent = createServer((socket) => socket.on("error", () => {}));
  ports.silent = await listen(silent);
  const closed = createServer();
  ports.dead = await listen(closed);
  await new Promise((resolve) => closed.close(resolve));
});
afterAll(() => void silent.close());

it.each(
  (["strict", "leased", "shared"] as const).flatMap((consistency) =>
    (["dead", "silent"] as const).map((redis) => [consistency, redis] as const),
  ),
)("ends after one take under %s, over a Redis that is %s", async (consistency, redis) => {
  const { outcome, afterMs } = await run(ports[redis], consistency);
  expect(outcome).toBe("admitted");
  expect(afterMs).toBeLessThan(AFTER_MS);
});

it("does not wait for the live document, which is read for longer than a request waits", async () => {
  const { afterMs } = await run(ports.silent, "strict", "", "live()");
  expect(afterMs).toBeLessThan(AFTER_MS);
});

it("waits for close(), and for no longer than that says", async () => {
  const { waitedMs, afterMs } = await run(ports.silent, "shared", "await limiter.close({ timeoutMs: 600 });");
  expect(waitedMs).toBeGreaterThan(BUDGET_MS);
  expect(waitedMs).toBeLessThan(600 + AFTER_MS);
  expect(afterMs).toBeLessThan(AFTER_MS);
});

it("on SIGTERM a server answers the request that it has, closes its limiter, and ends", async () => {
  const express = fileURLToPath(new URL("../../../src/adapters/express.ts", import.meta.url));
  const serve = `
    import { createServer } from "node:http";
    import { createLimiter, leases, redisStore } from ${JSON.stringify(ENTRY)};
    import { rateLimit } from ${JSON.stringify(express)};
    const limiter = createLimiter({
      policies: [{ name: "a", consistency: "leased", limits: [{ limit: 5, window: "1m" }] }],
      features: [leases()],
      store: redisStore({ url: "http://127.0.0.1:${ports.silent}", token: "t", onBreakerChange() {} }),
      onDecision() {},
    });
    const limit = rateLimit(limiter, { clientIp: "socket" });
    const server = createServer((req, res) => limit(req, res, () => {
      process.stderr.write("handling");
      setTimeout(() => res.end("done"), 300);
    }));
    server.listen(0, "127.0.0.1", () => console.log(server.address().port));
    process.once("SIGTERM", () => server.close(() => limiter.close()));
  `;
  const child = spawn(process.execPath, ["--input-type=module", "-e", serve], { stdio: ["ignore", "pipe", "pipe"] });
  const first = (stream: typeof child.stdout) => new Promise<string>((resolve) => stream.once("data", resolve));
  const port = Number(await first(child.stdout));
  const handling = first(child.stderr);
  const answer = fetch(`http://127.0.0.1:${port}/`, { headers: { Connection: "close" } });
  await handling;
  const ended = new Promise((resolve) => child.on("close", (...how) => resolve(how)));
  child.kill("SIGTERM");
  expect(await (await answer).text()).toBe("done");
  expect(await ended).toEqual([0, null]);
});
