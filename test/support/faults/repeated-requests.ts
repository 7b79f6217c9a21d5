// Clients that send requests again because answers get lost, through several gateways over one Redis. Between each
// gateway and Redis a proxy loses answers after the script ran, cuts connections before it ran, or holds an answer back
// beyond the time budget. It notes what Redis has replied. It imports nothing of vitest: scripts/stress/repeats.ts uses
// it too.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { request as ask } from "undici";
import { mulberry32 } from "../mulberry32.ts";

/** What happens to a call: it `ran` and its answer is lost, it is `cut` before it ran, it `hangs`, or it is `late`. */
const CALL_FAULTS = ["ran", "ran", "cut", "hangs", "late"] as const;

/** The time budget of the gateways, in ms, and when a late answer comes. */
export const BUDGET_MS = 400;
const LATE_MS = 600;

/** A call of the script that Redis has run for a request with an id. */
interface Ran {
  /** The key of the id, which begins with the client's key. */
  readonly onceKey: string;
  readonly isRepeat: boolean;
}

export interface RepeatProxy {
  readonly url: string;
  readonly ran: readonly Ran[];
  /** How many calls have met a fault. */
  readonly faults: number;
  /** The part of the calls that meet a fault. */
  rate: number;
  /** How far Redis's clock is ahead, in ms; 0: the script reads it. */
  aheadMs: number;
  /** Resolves when no call is under way. */
  idle(): Promise<void>;
  close(): Promise<void>;
}

/** @param target base URL of the REST service. */
export async function startRepeatProxy(target: string, seed: number): Promise<RepeatProxy> {
  const random = mulberry32(seed);
  const ran: Ran[] = [];
  const underWay = new Set<Promise<void>>();
  const state = { rate: 0, aheadMs: 0, faults: 0 };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const command = JSON.parse(Buffer.concat(chunks).toString()) as (string | number)[];
    const fault = random() < state.rate ? CALL_FAULTS[Math.floor(random() * CALL_FAULTS.length)] : undefined;
    if (fault) state.faults++;
    if (fault === "cut") return void request.socket.resetAndDestroy();
    if (fault === "hangs") return;
    const keys = Number(command[2]);
    const isScript = /^eval/i.test(String(command[0]));
    const sent = isScript && state.aheadMs > 0 ? command.with(3 + keys, Date.now() + state.aheadMs) : command;
    const { authorization = "" } = request.headers;
    const passed = await ask(`${target}${request.url}`, {
      ...{ method: "POST", headers: { Authorization: authorization }, body: JSON.stringify(sent) },
    });
    const text = await passed.body.text();
    const { result } = JSON.parse(text) as { result?: unknown };
    const onceKey = String(command[4]);
    if (isScript && Array.isArray(result) && onceKey.includes("!")) ran.push({ onceKey, isRepeat: result[1] === 1 });
    if (fault === "ran") return void request.socket.destroy();
    if (fault === "late") await new Promise((resolve) => setTimeout(resolve, LATE_MS));
    response.writeHead(passed.statusCode, { "Content-Type": "application/json" }).end(text);
  }

  const server = createServer((request, response) => {
    const work = answer(request, response).catch(() => void response.destroy());
    underWay.add(work);
    work.finally(() => underWay.delete(work));
  });
  server.on("connection", (socket) => socket.on("error", () => {}));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));

  return Object.assign(state, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ran,
    async idle() {
      while (underWay.size > 0) await Promise.all(underWay);
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}

export const LIMIT = 1_000_000;
const [CLIENTS, PATHS, METHODS] = [
  ["ann", "bob", "eve"],
  ["/a", "/b"],
  ["GET", "POST"],
];
/** The part of the requests that are repeats, and how many repeats an id has at most. */
const [REPEATED, REPEATS] = [0.3, 2];
const MOST_OPEN = 30;

/** The policy of these requests. `/look` costs nothing, and shows what is left. */
export const policyOf = (name: string) => ({
  name,
  key: ["header:x-client"],
  once: "header:idempotency-key",
  onceFor: "1h",
  repeats: REPEATS,
  cost: [{ path: "/look", cost: 0 }],
  limits: [{ limit: LIMIT, window: "7d", oldest: "whole" }],
});

export interface Sent {
  readonly client: string;
  readonly id?: string;
  readonly path?: string;
  readonly method?: string;
}

/** @returns the status, and what is left of the limit; undefined: the answer was given without Redis. */
export async function send(gateway: URL, { client, id, path = "/a", method = "GET" }: Sent) {
  const headers = { "X-Client": client, ...(id !== undefined && { "Idempotency-Key": id }) };
  const response = await fetch(new URL(path, gateway), { method, headers });
  await response.arrayBuffer();
  const remaining = response.headers.get("X-RateLimit-Remaining");
  return { status: response.status, remaining: remaining === null ? undefined : Number(remaining) };
}

export interface Told {
  readonly sent: number;
  readonly repeats: number;
  readonly ids: number;
  /** Calls that met a fault. */
  readonly faults: number;
  /** Ids for which a call has reached Redis. */
  readonly reached: number;
  /** Ids that were charged more than once, or not once although a call reached Redis. */
  readonly wrong: readonly string[];
  /** Units in Redis. */
  readonly charged: number;
  /** Answers that were neither 200 nor told what is left: none of the promises allows them. */
  readonly unexpected: number;
}

/** Sends the requests through all gateways, and compares what Redis has counted with what it should have. */
export async function sendWithRepeats(
  gateways: readonly URL[],
  proxies: readonly RepeatProxy[],
  { requests, seed }: { readonly requests: number; readonly seed: number },
): Promise<Told> {
  const random = mulberry32(seed);
  const any = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)]!;
  const known: { sent: Sent; repeats: number }[] = [];
  const taken = new Set<string>();
  let [begun, repeated, unexpected] = [0, 0, 0];

  function next(): Sent {
    // A repeat may overtake the request that it repeats: clients that hedge send it before they have waited long.
    const recent = known.slice(-200).filter(({ repeats }) => repeats < REPEATS);
    if (recent.length > 0 && random() < REPEATED) {
      const one = any(recent);
      one.repeats++;
      repeated++;
      return one.sent;
    }
    // Every third client's id is the id of another client too.
    const sent = {
      client: any(CLIENTS),
      id: `id-${Math.floor(known.length / 2)}`,
      path: any(PATHS),
      method: any(METHODS),
    };
    const text = JSON.stringify(sent);
    const isTaken = taken.has(text);
    taken.add(text);
    const one = { sent: isTaken ? { ...sent, id: `own-${known.length}` } : sent, repeats: 0 };
    known.push(one);
    return one.sent;
  }

  for (const proxy of proxies) proxy.rate = 0.15;
  const open = async () => {
    while (begun < requests) {
      begun++;
      const { status } = await send(any(gateways), next());
      if (status !== 200) unexpected++;
    }
  };
  await Promise.all(Array.from({ length: MOST_OPEN }, open));
  for (const proxy of proxies) proxy.rate = 0;
  await Promise.all(proxies.map((proxy) => proxy.idle()));

  const charges = new Map<string, number>();
  for (const { onceKey, isRepeat } of proxies.flatMap(({ ran }) => ran)) {
    charges.set(onceKey, (charges.get(onceKey) ?? 0) + (isRepeat ? 0 : 1));
  }
  const left = await Promise.all(CLIENTS.map((client) => remainingOf(gateways, client)));
  return {
    ...{ sent: begun, repeats: repeated, ids: known.length, unexpected },
    faults: proxies.reduce((sum, { faults }) => sum + faults, 0),
    reached: charges.size,
    wrong: [...charges].filter(([, times]) => times !== 1).map(([key, times]) => `${key}: charged ${times} times`),
    charged: left.reduce((sum, one) => sum + LIMIT - one, 0),
  };
}

/** What Redis says is left. A breaker that is open lets a probe through about once a second. */
async function remainingOf(gateways: readonly URL[], client: string): Promise<number> {
  for (let tries = 0; tries < 100; tries++) {
    const { remaining } = await send(gateways[tries % gateways.length]!, { client, path: "/look" });
    if (remaining !== undefined) return remaining;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("Redis does not answer any more");
}
