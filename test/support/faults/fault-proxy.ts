// A proxy between a gateway and the REST service that can be told to fail at any time. It uses real sockets and real
// HTTP, and imports nothing of vitest: scripts/stress/faults.ts and scripts/stress/soak.ts use it too.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { request as ask } from "undici";
import { freePort } from "../../../scripts/machine/redis-server.ts";

/** Every fault of the proxy, and what the fault means for the command: does the command run, or is it refused? */
export const PROXY_FAULTS = {
  /** Nothing listens on the port. */
  refused: "never-runs",
  /** The connection is reset as soon as it is open. */
  reset: "never-runs",
  /** The proxy passes the command on, then resets the connection. */
  "reset-after": "runs",
  /** The proxy passes the command on, then closes the connection properly, without an answer. */
  "lost-reply": "runs",
  /** The proxy reads the request and never answers. */
  blackholed: "never-runs",
  /** The answer comes after 100 to 500 ms, 300 ms on average. */
  slow: "runs",
  "status-500": "never-runs",
  "status-429": "is-refused",
  "status-401": "is-refused",
  /** The JSON of the answer ends halfway. */
  truncated: "runs",
  /** The answer is another server's login page. */
  "not-json": "never-runs",
  /** The answers have missing numbers, extra numbers, texts, nested lists or no list at all, in turn. */
  "wrong-shape": "runs",
  /** Two replies that are under way at the same time are exchanged. */
  swapped: "runs",
  readonly: "is-refused",
  /** The same error as Redis 6 reports it: wrapped into an error of the script. */
  wrapped: "is-refused",
  oom: "is-refused",
  /** Redis could not write its last snapshot. */
  misconf: "is-refused",
  /** Fewer replicas are connected than `min-replicas-to-write` asks for. */
  noreplicas: "is-refused",
  /** The replica has lost its master, with `replica-serve-stale-data no`. */
  masterdown: "is-refused",
  clusterdown: "is-refused",
  busy: "is-refused",
  loading: "is-refused",
  /** Redis never knows the script, not even when its text is sent. */
  noscript: "is-refused",
  /** Redis's clock is 10 s behind. */
  "clock-behind": "runs",
} as const;
export type ProxyFault = keyof typeof PROXY_FAULTS;

const BEHIND_MS = 10_000;
/** The longest time that a reply waits for another reply to exchange with. */
const SWAP_WITHIN_MS = 20;

const READONLY = "READONLY You can't write against a read only replica.";
const ERRORS: { readonly [fault in ProxyFault]?: readonly [status: number, error: string] } = {
  "status-500": [500, "ERR internal error"],
  "status-429": [429, "ERR max requests limit exceeded. Limit: 10000, Usage: 10000."],
  "status-401": [401, "WRONGPASS invalid or missing auth token"],
  readonly: [400, READONLY],
  wrapped: [
    400,
    `ERR Error running script (call to f_${"0".repeat(40)}): @user_script:9: @user_script: 9: -${READONLY} `,
  ],
  oom: [400, "OOM command not allowed when used memory > 'maxmemory'."],
  misconf: [400, "MISCONF Errors writing to the AOF file: No space left on device"],
  noreplicas: [400, "NOREPLICAS Not enough good replicas to write."],
  masterdown: [400, "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."],
  clusterdown: [400, "CLUSTERDOWN The cluster is down"],
  busy: [400, "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."],
  loading: [400, "LOADING Redis is loading the dataset in memory"],
  noscript: [400, "NOSCRIPT No matching script. Please use EVAL."],
};

export interface FaultProxy {
  readonly url: string;
  /** Starts the fault, or ends it with undefined. Resolves when the fault applies to everything that arrives. */
  set(fault: ProxyFault | undefined): Promise<void>;
  /** How many commands have met the fault since it was set. With `reset` it also counts connections. */
  readonly met: number;
  /** The keys of the scripts among them, as far as the proxy has read them. */
  readonly metKeys: ReadonlySet<string>;
  close(): Promise<void>;
}

/** @param target base URL of the REST service. */
export async function startFaultProxy(target: string): Promise<FaultProxy> {
  let fault: ProxyFault | undefined;
  let met = 0;
  let metKeys = new Set<string>();
  let waiting: ((body: string) => string) | undefined;
  // While the proxy is closed, nobody else gets its port: the connections that it has ended are remembered.
  const port = await freePort();
  let server = await open(port);

  async function open(on: number): Promise<Server> {
    const opened = createServer((request, response) => {
      // A client that hangs up is not a failure of the proxy.
      answer(request, response).catch(() => response.destroy());
    });
    opened.keepAliveTimeout = 120_000;
    opened.on("connection", (socket) => {
      socket.on("error", () => {});
      if (fault !== "reset") return;
      met++;
      socket.resetAndDestroy();
    });
    await new Promise<void>((resolve, reject) => opened.once("error", reject).listen(on, "127.0.0.1", resolve));
    return opened;
  }

  async function shut(): Promise<void> {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeAllConnections();
    await closed;
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    const now = fault;
    const send = (status: number, text: string) => {
      response.writeHead(status, { "Content-Type": "application/json" }).end(text);
    };
    if (now) {
      met++;
      for (const key of keysOf(body)) metKeys.add(key);
    }
    const error = now && ERRORS[now];
    if (error) return send(error[0], JSON.stringify({ error: error[1] }));
    if (now === "reset") return void request.socket.resetAndDestroy();
    if (now === "blackholed") return;
    if (now === "not-json") return send(200, "<!doctype html><title>Please log in</title>");

    const passed = await passOn(request, now === "clock-behind" ? withClockBehind(body) : body);
    switch (now) {
      case "reset-after":
        return void request.socket.resetAndDestroy();
      case "lost-reply":
        return void request.socket.destroy();
      case "slow":
        await sleep(100 + 400 * Math.random());
        break;
      case "truncated":
        return send(200, passed.text.slice(0, passed.text.length / 2));
      case "wrong-shape":
        return send(200, wrongShape(passed.text, met));
      case "swapped":
        return send(passed.status, await swapped(passed.text));
    }
    send(passed.status, passed.text);
  }

  async function passOn({ url, headers: { authorization = "" } }: IncomingMessage, body: string) {
    const headers = { Authorization: authorization };
    const passed = await ask(`${target}${url}`, { method: "POST", headers, body });
    return { status: passed.statusCode, text: await passed.body.text() };
  }

  /** Exchanges this reply with the next one. If no other reply comes in time, returns this reply. */
  async function swapped(text: string): Promise<string> {
    const partner = waiting;
    waiting = undefined;
    if (partner) return partner(text);
    return await new Promise<string>((resolve) => {
      const alone = setTimeout(() => {
        waiting = undefined;
        resolve(text);
      }, SWAP_WITHIN_MS);
      waiting = (theirs) => {
        clearTimeout(alone);
        resolve(theirs);
        return text;
      };
    });
  }

  return {
    url: `http://127.0.0.1:${port}`,
    get met() {
      return met;
    },
    get metKeys() {
      return metKeys;
    },
    async set(next) {
      const before = fault;
      fault = next;
      met = 0;
      metKeys = new Set();
      if (next === "refused" && before !== "refused") await shut();
      if (next !== "refused" && before === "refused") server = await open(port);
    },
    async close() {
      if (fault !== "refused") await shut();
    },
  };
}

function keysOf(body: string): string[] {
  const command = JSON.parse(body) as (string | number)[];
  return /^eval/i.test(String(command[0])) ? command.slice(3, 3 + Number(command[2])).map(String) : [];
}

/** `["evalsha", sha1, n, key…, now_ms, …]`: replaces now_ms, so that the script uses a clock that is 10 s behind. */
function withClockBehind(body: string): string {
  const command = JSON.parse(body) as (string | number)[];
  if (!/^eval/i.test(String(command[0]))) return body;
  return JSON.stringify(command.with(3 + Number(command[2]), Date.now() - BEHIND_MS));
}

function wrongShape(text: string, turn: number): string {
  const { result } = JSON.parse(text) as { result?: unknown };
  if (!Array.isArray(result)) return text;
  const shapes = [result.slice(0, -1), [...result, 0], result.map(String), [result], { ...result }, null, "OK", 1];
  return JSON.stringify({ result: shapes[turn % shapes.length] });
}
