// Clients that send requests again because answers get lost, through several gateways over one Redis. Between each
// gateway and Redis a proxy loses answers after the script ran, cuts connections before it ran, or holds an answer back
// beyond the time budget. It imports nothing of vitest: scripts/stress/repeats.ts uses it too.

import { mulberry32 } from "../mulberry32.ts";
import { type CallProxy, startCallProxy } from "./call-proxy.ts";

/** The time budget of the gateways, in ms. */
export const BUDGET_MS = 400;

/** @param target base URL of the REST service. */
export function startRepeatProxy(target: string, seed: number): Promise<CallProxy> {
  return startCallProxy(target, { seed, faults: ["ran", "ran", "cut", "hangs", "late"], budgetMs: BUDGET_MS });
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
  proxies: readonly CallProxy[],
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
  for (const { keys, result } of proxies.flatMap(({ calls }) => calls)) {
    // The key of the id stands behind the client's key, which it begins with.
    const onceKey = keys[1] ?? "";
    if (!Array.isArray(result) || !onceKey.includes("!")) continue;
    const isRepeat = result[1] === 1;
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
