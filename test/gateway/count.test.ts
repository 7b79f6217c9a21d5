// A limit of 5 failed logins, over a real origin and a real Redis.

import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { type Gateway, type GatewayOptions, startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { startOrigin } from "../support/gateway/origin-server.ts";
import { openRaw } from "../support/gateway/raw.ts";
import { mulberry32 } from "../support/mulberry32.ts";

const perHour = { algorithm: "fixed-window", limit: 5, window: "31d" };

async function startLogin(originUrl: string, options: Partial<GatewayOptions> & { readonly policy?: object } = {}) {
  const { policy, vars, ...others } = options;
  return await startGateway({
    policies: [{ name: uniqueName("login"), count: "failures", limits: [perHour], ...policy }],
    vars: { ORIGIN_URL: originUrl, ...vars },
    ...others,
  });
}

/** An origin that answers with the status that the request asks for. */
const startAnswering = () =>
  startOrigin(({ headers }, response) => response.writeHead(Number(headers["x-status"])).end("answer"));

/** A request that overtakes units on their way back is told 1 s. It is sent again after that, as a client would. */
async function sendAgain(send: () => Promise<Response>): Promise<Response> {
  let answer = await send();
  while (answer.headers.get("Retry-After") === "1") {
    // Real time: a real Redis and workerd give the units back.
    await sleep(1_000);
    answer = await send();
  }
  return answer;
}

/** The statuses of requests one after another from one address, each for one status of the origin. */
async function inTurn(gateway: Gateway, wanted: readonly number[], address: string): Promise<number[]> {
  const statuses: number[] = [];
  for (const status of wanted) {
    const headers = { "X-Status": String(status) };
    const answer = await sendAgain(() => gateway.fetch("/login", { method: "POST", address, headers }));
    await answer.text();
    statuses.push(answer.status);
  }
  return statuses;
}

/** What an exact counter would answer: 429 after five failures. */
function expected(wanted: readonly number[]): number[] {
  let failures = 0;
  return wanted.map((status) => {
    if (failures === 5) return 429;
    if (status >= 400) failures++;
    return status;
  });
}

function shuffled(list: readonly number[], random: () => number): number[] {
  return list
    .map((one) => [random(), one] as const)
    .sort(([a], [b]) => a - b)
    .map(([, one]) => one);
}

const LOGINS = [...Array.from({ length: 5 }, () => 401), ...Array.from({ length: 20 }, () => 200)];

describe("one after another", () => {
  it.each([
    // A success gives its unit back within a second over Redis, and its client waits for it: an order takes 4 s.
    ["Redis", [1], {}],
    ["a Durable Object", [1, 2, 3], { redis: null, counts: true }],
  ] as const)("5 failures and 20 successes in any order, over %s", async (_, seeds, options) => {
    const gateway = await startLogin((await startAnswering()).url, options);
    for (const seed of seeds) {
      const wanted = [...shuffled(LOGINS, mulberry32(seed)), 200, 401];
      expect(await inTurn(gateway, wanted, `192.0.2.${seed}`)).toEqual(expected(wanted));
    }
    const refused = await gateway.fetch("/login", { address: "192.0.2.1" });
    expect(Number(refused.headers.get("Retry-After"))).toBeGreaterThan(1);
  });
});

describe("a status that nobody learned stays charged", () => {
  it.each(["failures", "successes"] as const)("under %s: the client leaves an origin that hangs", async (count) => {
    const arrived: (() => void)[] = [];
    const origin = await startOrigin((_request, response) => {
      arrived.push(() => response.destroy());
    });
    const gateway = await startLogin(origin.url, {
      policy: { count, key: ["global"], limits: [{ ...perHour, limit: 2 }] },
    });
    for (let i = 1; i <= 2; i++) {
      const client = openRaw(gateway, "GET /login HTTP/1.1");
      await expect.poll(() => arrived.length, { timeout: 20_000 }).toBe(i);
      client.resetAndDestroy();
    }
    expect((await gateway.fetch("/login")).status).toBe(429);
    for (const end of arrived) end();
    expect((await gateway.fetch("/login")).status).toBe(429);
  });

  it.each(["failures", "successes"] as const)(
    "under %s: the origin hangs up, and the gateway answers 502",
    async (count) => {
      const origin = await startOrigin((request) => request.socket.destroy());
      const gateway = await startLogin(origin.url, { policy: { count, limits: [{ ...perHour, limit: 2 }] } });
      const statuses = [];
      for (let i = 0; i < 3; i++) statuses.push((await gateway.fetch("/login")).status);
      expect(statuses).toEqual([502, 502, 429]);
    },
  );
});
