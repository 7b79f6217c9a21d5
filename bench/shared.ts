/**
 * `consistency = "shared"` with real parts: three gateways in workerd, 100 ms from a real Redis, get three times the
 * limit's demand. In the same seconds three gateways whose policies match nothing get the same requests. At the end
 * Redis is away for 20 s, and comes back. Prints what bench/results/consistency.md shows, and more.
 *
 *   npm run bench:shared
 *
 * Ends with status 1 if a target is missed. A busy machine can miss those of the latency.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { Agent } from "undici";
import { startRedisServer } from "../scripts/machine/redis-server.ts";
import { describeMachine } from "./support/machine.ts";
import { startService } from "./support/service.ts";
import { markdownTable } from "./support/show.ts";
import { percentile } from "./support/stats.ts";
import { bundleWorker, startWorkerd } from "./support/workerd.ts";

const IS_QUICK = process.argv.includes("--quick");
const TARGET = { p50Ms: 2, p99Ms: 5, calls: 1.2, admitted: [0.95, 1.05] } as const;
const GATEWAYS = 3;
const ROUND_TRIP_MS = 200;
const SYNC_MS = 1_000;
const WINDOW_MS = 10_000;
/** The windows that are counted, after one that is not. */
const WINDOWS = IS_QUICK ? 1 : 10;
const LIMIT = 500;
const DEMAND = 3;
const AWAY_MS = IS_QUICK ? 10_000 : 20_000;
/** How long counts are compared before Redis goes away, and after it is back. */
const AROUND_MS = 10_000;
/** Two `sync`, each up to a fifth longer, and the ways of their calls. */
const AGREE_MS = 2 * 1.2 * SYNC_MS + 2 * ROUND_TRIP_MS;
/** The units of a key that is never used up. */
const PLENTY = 1_000_000;
/** Requests per second of that key over all gateways, but for those of the outage. */
const FEW = 15;
/** While Redis is away, so many more come to the first gateway. */
const MANY = 100;
/** Counts agree if they differ by at most a twentieth of what came to the first gateway meanwhile. */
const AGREE_UNITS = (0.05 * MANY * AWAY_MS) / 1_000;

const redis = await startRedisServer();
const service = await startService(redis.url);
service.roundTripMs = ROUND_TRIP_MS;
const code = await bundleWorker("gateway.mjs");
const agent = new Agent();
const stops: (() => Promise<void>)[] = [];
async function stopGateways(): Promise<void> {
  for (const stop of stops.splice(0)) await stop();
}

/** @param name of the run: its calls are counted by this name. @returns their ports. */
async function startGateways(name: string, policies: readonly object[], count = GATEWAYS): Promise<number[]> {
  const bindings = {
    POLICIES: policies,
    UPSTASH_REDIS_REST_URL: `${service.url}/${name}`,
    UPSTASH_REDIS_REST_TOKEN: service.token,
    // A busy machine must not look like a slow Redis.
    REDIS_TIMEOUT_MS: 500,
  };
  const gateways = await Promise.all(Array.from({ length: count }, () => startWorkerd(code, bindings)));
  stops.push(...gateways.map(({ stop }) => stop));
  return gateways.map(({ port }) => port);
}

interface Sent {
  readonly status: number;
  readonly remaining: number;
  readonly ms: number;
  readonly answeredAtMs: number;
}

async function send(port: number, path: string, client: number): Promise<Sent> {
  const startedAt = performance.now();
  const headers = { "CF-Connecting-IP": `192.0.2.${client}` };
  const {
    statusCode,
    headers: fields,
    body,
  } = await agent.request({
    ...{ origin: `http://127.0.0.1:${port}`, path, method: "GET", headers },
  });
  await body.dump();
  if (statusCode !== 200 && statusCode !== 429) throw new Error(`bench: expected 200 or 429, found ${statusCode}`);
  const remaining = Number(/;r=(\d+)/.exec(String(fields.ratelimit))?.[1]);
  return { status: statusCode, remaining, ms: performance.now() - startedAt, answeredAtMs: Date.now() };
}

/** Calls `one` so often per second, with its number. If a timer is late, all that is due is sent at once. */
async function pace(perSecond: number, forMs: number, one: (i: number) => Promise<unknown>): Promise<void> {
  const startedAt = performance.now();
  const count = Math.round((perSecond * forMs) / 1_000);
  const all: Promise<unknown>[] = [];
  while (all.length < count) {
    const due = Math.min(count, Math.floor((perSecond * (performance.now() - startedAt)) / 1_000) + 1);
    while (all.length < due) all.push(one(all.length));
    await sleep(2);
  }
  await Promise.all(all);
}

const policyOf = (name: string, rest: object) => ({ name, consistency: "shared", sync: `${SYNC_MS}ms`, ...rest });
const siteOf = (name: string) =>
  policyOf(`${name}-site`, { key: ["global"], match: { path: "/a" }, limits: [{ limit: LIMIT, window: "10s" }] });

const startBeside = () =>
  startGateways("none", [{ name: "none", match: { path: "/nothing" }, limits: [{ limit: LIMIT, window: "10s" }] }]);

/** Resolves when a window begins. @returns when it has begun. */
async function nextWindow(): Promise<number> {
  const startMs = WINDOW_MS * Math.ceil(Date.now() / WINDOW_MS);
  while (Date.now() < startMs) await sleep(startMs - Date.now());
  return startMs;
}

/** Sends three times the limit to `ports`, and the same to the gateways beside them. */
async function demand(ports: readonly number[], beside: readonly number[], clients: number, forMs: number) {
  const [own, plain]: [Sent[], Sent[]] = [[], []];
  await pace((DEMAND * LIMIT * 1_000) / WINDOW_MS, forMs, async (i) => {
    const to = (all: readonly number[], sent: Sent[]) =>
      send(all[i % GATEWAYS]!, "/a", i % clients).then((one) => sent.push(one));
    // Each is first in half of the pairs.
    const pair = [() => to(ports, own), () => to(beside, plain)];
    await Promise.all((Math.floor(i / GATEWAYS) % 2 === 0 ? pair : pair.toReversed()).map((one) => one()));
  });
  return { own, plain };
}

const misses: string[] = [];
const target = (what: string, holds: boolean) => holds || misses.push(what);

/** What the limiter added to requests answered between two instants. */
function addedMs(own: readonly Sent[], plain: readonly Sent[], fromMs: number, toMs: number): string[] {
  const within = (sent: readonly Sent[]) =>
    sent.filter(({ answeredAtMs }) => answeredAtMs >= fromMs && answeredAtMs < toMs).map(({ ms }) => ms);
  return (
    [
      [0.5, TARGET.p50Ms],
      [0.99, TARGET.p99Ms],
    ] as const
  ).map(([part, mostMs]) => {
    const [ms, besideMs] = [percentile(within(own), part), percentile(within(plain), part)];
    target(`${mostMs} ms more at the ${part} quantile`, ms - besideMs < mostMs);
    return `${(ms - besideMs).toFixed(2)} ms (${ms.toFixed(2)}, beside it ${besideMs.toFixed(2)})`;
  });
}

/** The admitted units of each window from one instant on, relative to the limit. */
function admittedIn(own: readonly Sent[], fromMs: number, windows: number): number[] {
  return Array.from({ length: windows }, (_, w) => {
    const atMs = fromMs + w * WINDOW_MS;
    const admitted = own.filter((one) => {
      return one.status === 200 && one.answeredAtMs >= atMs && one.answeredAtMs < atMs + WINDOW_MS;
    });
    return admitted.length / LIMIT;
  });
}

async function withKeys(keys: number): Promise<string[]> {
  const name = `keys-${keys}`;
  const forEach = policyOf(`${name}-client`, { match: { path: "/a" }, limits: [{ limit: PLENTY, window: "10s" }] });
  const ports = await startGateways(name, keys === 1 ? [siteOf(name)] : [siteOf(name), forEach]);
  const beside = await startBeside();
  const startMs = await nextWindow();
  const startedAt = performance.now();
  const forMs = (WINDOWS + 1) * WINDOW_MS;
  const { own, plain } = await demand(ports, beside, Math.max(1, keys - 1), forMs);
  const calls = service.calls(name) / GATEWAYS / ((performance.now() - startedAt) / 1_000);
  const parts = admittedIn(own, startMs + WINDOW_MS, WINDOWS);
  const admitted = parts.reduce((sum, part) => sum + part) / WINDOWS;
  target(`${TARGET.calls} calls per second and isolate`, calls <= TARGET.calls);
  target(TARGET.admitted.join(" to "), admitted >= TARGET.admitted[0] && admitted <= TARGET.admitted[1]);
  return [
    String(keys),
    ...addedMs(own, plain, startMs + WINDOW_MS, startMs + forMs),
    calls.toFixed(2),
    `${admitted.toFixed(3)} (${Math.min(...parts).toFixed(2)} to ${Math.max(...parts).toFixed(2)})`,
  ];
}

/**
 * Redis is away. Meanwhile most requests of a second key come to one gateway: the others cannot
 * know. What each gateway says is left of that key is compared with what all have admitted.
 */
async function withRedisAway(mode: "is silent" | "closes connections"): Promise<string[][]> {
  const name = `away-${mode.split(" ")[0]}`;
  const long = policyOf(name, { key: ["global"], match: { path: "/b" }, limits: [{ limit: PLENTY, window: "1h" }] });
  const ports = await startGateways(name, [siteOf(name), long]);
  const wrong: { readonly gateway: number; readonly atMs: number; readonly units: number }[] = [];
  let admitted = 0;
  const sendLong = async (gateway: number) => {
    const { remaining, answeredAtMs } = await send(ports[gateway]!, "/b", 0);
    admitted++;
    wrong.push({ gateway, atMs: answeredAtMs, units: remaining - (PLENTY - admitted) });
  };
  const few = (forMs: number) => pace(FEW, forMs, (i) => sendLong(i % GATEWAYS));
  const beside = await startBeside();
  await nextWindow();
  const sending = demand(ports, beside, 1, 2 * AROUND_MS + AWAY_MS + WINDOW_MS);
  await few(WINDOW_MS + AROUND_MS);
  service.mode = mode;
  const awayAtMs = Date.now();
  await Promise.all([few(AWAY_MS), pace(MANY, AWAY_MS, () => sendLong(0))]);
  service.mode = "serves";
  const backAtMs = Date.now();
  await few(AROUND_MS);
  const { own, plain } = await sending;

  const ofGateway = (gateway: number, fromMs: number, toMs: number) =>
    wrong.filter((one) => one.gateway === gateway && one.atMs >= fromMs && one.atMs < toMs);
  const wrongIn = (fromMs: number, toMs: number) =>
    ports
      .map((_, g) =>
        percentile(
          ofGateway(g, fromMs, toMs).map(({ units }) => units),
          0.5,
        ).toFixed(0),
      )
      .join(", ");
  const endMs = backAtMs + AROUND_MS;
  // What was told without an answer is known to its own gateway only: counts agree when they no longer change.
  const agreedAtMs = ports.map((_, g) => {
    const settled = percentile(
      ofGateway(g, endMs - AROUND_MS / 2, endMs).map(({ units }) => units),
      0.5,
    );
    const off = ofGateway(g, backAtMs, endMs).filter(({ units }) => Math.abs(units - settled) > AGREE_UNITS);
    return off.at(-1)?.atMs ?? backAtMs;
  });
  const agreeMs = Math.max(...agreedAtMs) - backAtMs;
  target(`counts agree ${AGREE_MS} ms after Redis is back, which ${mode}`, agreeMs <= AGREE_MS);

  await sleep(AGREE_MS);
  const [strict] = await startGateways("strict", [{ ...long, consistency: "strict", sync: undefined }], 1);
  const counted = PLENTY - 1 - (await send(strict!, "/b", 0)).remaining;
  const longest = (all: readonly Sent[]) =>
    Math.max(...all.filter((one) => one.answeredAtMs >= awayAtMs && one.answeredAtMs < backAtMs).map(({ ms }) => ms));
  const [median, p99] = addedMs(own, plain, awayAtMs, backAtMs) as [string, string];
  const firstMs = WINDOW_MS * Math.round(awayAtMs / WINDOW_MS);
  return [
    ["added at the median, while it is away", median],
    ["added at p99, while it is away", p99],
    ["longest answer, while it is away", `${longest(own).toFixed(0)} ms, beside it ${longest(plain).toFixed(0)}`],
    [
      "admitted of the used-up limit in each window, while it is away",
      admittedIn(own, firstMs, AWAY_MS / WINDOW_MS)
        .map((part) => part.toFixed(2))
        .join(", "),
    ],
    ["error of each gateway before, in units", wrongIn(awayAtMs - AROUND_MS / 2, awayAtMs)],
    ["error in the last second", wrongIn(backAtMs - 1_000, backAtMs)],
    ["counts agree again after", `${(agreeMs / 1_000).toFixed(1)} s`],
    ["error from then on", wrongIn(backAtMs + AGREE_MS, endMs)],
    ["told without an answer, and not counted by Redis", `${admitted - counted} of ${admitted} units`],
  ];
}

try {
  const rows: string[][] = [];
  for (const keys of [1, 200]) {
    rows.push(await withKeys(keys));
    await stopGateways();
    console.error(rows.at(-1)!.join(" | "));
  }
  const away: string[][][] = [];
  for (const mode of ["is silent", "closes connections"] as const) {
    away.push(await withRedisAway(mode));
    await stopGateways();
  }
  const head = ["Keys", "Added, median", "Added, p99", "Calls", "Admitted"];
  console.log(`${await describeMachine()}\n\n${markdownTable(head, rows)}\n`);
  const [silent, closed] = away as [string[][], string[][]];
  const both = silent.map(([what, figure], i) => [what!, figure!, closed[i]![1]!]);
  console.log(markdownTable([`Away for ${AWAY_MS / 1_000} s`, "Redis is silent", "Connections are closed"], both));
  for (const what of new Set(misses)) console.log(`\nmissed: ${what}`);
  if (misses.length > 0) process.exitCode = 1;
} finally {
  await stopGateways();
  await agent.destroy();
  await service.stop();
  await redis.stop();
}
