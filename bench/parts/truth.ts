/**
 * Part 3: what each limiter lets through, wrongly refuses, wrongly charges and promises. All get the same traces in
 * real time.
 */

import { Worker } from "node:worker_threads";
import { type RedisServer, startRedisServer } from "../../scripts/machine/redis-server.ts";
import { startBinding } from "../support/binding.ts";
import type { Part } from "../support/part.ts";
import { type Service, startService } from "../support/service.ts";
import { type Retry, retryError } from "../support/stats.ts";
import { bundleWorker } from "../support/workerd.ts";
import { type Answered, judge, type Result } from "../truth/judge.ts";
import { BINDING, PEERS, type Retries, report } from "../truth/report.ts";
import { RETRY, TRACES, type Trace } from "../truth/traces.ts";

/** How many limiters run at a time. More would measure the load on this machine. */
const AT_ONCE = 5;
/** The binding's shortest window, in ms. */
const BINDING_WINDOW_MS = 10_000;
/** The traces that `--quick` runs. */
const QUICK = ["boundary", "hammer", "denied", "multi"];

interface Parts {
  readonly server: RedisServer;
  readonly service: Service;
}

/** All limiters share one Redis, but no key. */
const nameOf = (peer: string) => peer.replaceAll(/[^a-z0-9]/gi, "");
const now = () => performance.timeOrigin + performance.now();

/** What an isolate connects to: a REST service and the Redis behind it, or the Worker with the binding. */
interface Reached {
  readonly url: string;
  readonly token?: string;
  readonly redisUrl?: string;
}

class Isolate {
  readonly #worker: Worker;
  constructor(peer: string, service: Reached, limits: Trace["limits"], skewMs: number) {
    const workerData = { peer, service, limits, skewMs };
    this.#worker = new Worker(new URL("../truth/isolate.mjs", import.meta.url), { workerData });
  }
  async next<T>(): Promise<T> {
    return await new Promise((resolve, reject) => {
      this.#worker.once("message", resolve);
      this.#worker.once("error", reject);
    });
  }
  async ask<T>(message: object): Promise<T> {
    this.#worker.postMessage(message);
    return await this.next<T>();
  }
  async stop(): Promise<void> {
    await this.#worker.terminate();
  }
}

const reached = (peer: string, { server, service }: Parts): Reached => {
  return { url: `${service.url}/${nameOf(peer)}`, token: service.token, redisUrl: server.url };
};

const isolatesOf = ({ asks }: Pick<Trace, "asks">) => 1 + Math.max(0, ...asks.map(({ isolate }) => isolate));

async function startIsolates(
  peer: string,
  trace: Pick<Trace, "limits" | "skewMs" | "asks">,
  services: (isolate: number) => Reached,
): Promise<Isolate[]> {
  const isolates = Array.from(
    { length: isolatesOf(trace) },
    (_, i) => new Isolate(peer, services(i), trace.limits, trace.skewMs?.[i] ?? 0),
  );
  await Promise.all(isolates.map((isolate) => isolate.next()));
  return isolates;
}

/** Each isolate sends its own requests of the trace. */
async function drive(peer: string, isolates: readonly Isolate[], trace: Trace, startMs: number): Promise<Answered[]> {
  const answers = await Promise.all(
    isolates.map((isolate, i) => {
      const own = trace.asks.filter((one) => one.isolate === i);
      const requests = own.map(({ afterMs, cost }) => ({ atMs: startMs + afterMs, key: nameOf(peer), cost }));
      return isolate.ask<Answered[]>({ requests });
    }),
  );
  return answers.flat();
}

/** An instant at which a window of this length begins, late enough to hand all requests to the isolates before. */
function beginning(windowMs: number): number {
  const soonMs = now() + 300;
  // A long window needs to hold the whole trace. The trace need not begin with it.
  if (windowMs >= 60_000)
    return soonMs % windowMs > windowMs - 8_000 ? Math.ceil(soonMs / windowMs) * windowMs : soonMs;
  return Math.ceil(soonMs / windowMs) * windowMs;
}

async function runTrace(trace: Trace, peers: readonly string[]): Promise<Map<string, Result>> {
  const server = await startRedisServer();
  const services = await Promise.all(peers.map(() => startService(server.url)));
  const isolates = await Promise.all(
    peers.map((peer, i) => startIsolates(peer, trace, () => reached(peer, { server, service: services[i]! }))),
  );
  for (const service of services) service.loseEvery = trace.loseEvery ?? 0;
  const { windowMs, limit } = trace.limits[0]!;
  const startMs = beginning(windowMs);
  const results = new Map<string, Result>();
  await Promise.all(
    peers.map(async (peer, p) => {
      const all = await drive(peer, isolates[p]!, trace, startMs);
      services[p]!.loseEvery = 0;
      const result = judge(all, limit, windowMs);
      if (!trace.isCharged) return results.set(peer, result);
      const charged = await isolates[p]![0]!.ask<number[]>({ charged: nameOf(peer), redisUrl: server.url });
      const overcharged = charged.reduce((sum, units) => sum + units - result.admitted, 0);
      return results.set(peer, { ...result, overcharged });
    }),
  );
  await Promise.all(isolates.flat().map((isolate) => isolate.stop()));
  await Promise.all(services.map((service) => service.stop()));
  await server.stop();
  return results;
}

/**
 * The binding's windows are 10 or 60 s, so it gets the same traces, but slower. Each location has its own counters, so
 * each isolate is a separate Miniflare. All traces run at the same time, because they are little work.
 */
async function runBinding(traces: readonly Trace[]): Promise<Map<string, Result>> {
  const code = await bundleWorker("binding.mjs");
  const results = traces.map(async (trace): Promise<[string, Result]> => {
    const { windowMs, limit } = trace.limits[0]!;
    const times = BINDING_WINDOW_MS / windowMs;
    const slower = { ...trace, asks: trace.asks.map((one) => ({ ...one, afterMs: one.afterMs * times })) };
    const locations = await Promise.all(
      Array.from({ length: isolatesOf(trace) }, () => startBinding(code, limit, BINDING_WINDOW_MS)),
    );
    const isolates = await startIsolates(BINDING, slower, (i) => ({ url: `http://127.0.0.1:${locations[i]!.port}` }));
    const answers = await drive(BINDING, isolates, slower, beginning(BINDING_WINDOW_MS));
    await Promise.all([...isolates, ...locations].map((one) => one.stop()));
    return [trace.name, judge(answers, limit, BINDING_WINDOW_MS)];
  });
  return new Map(await Promise.all(results));
}

async function runRetries(peers: readonly string[]): Promise<Retries> {
  const server = await startRedisServer();
  const service = await startService(server.url);
  const { limits, rounds: all, parts } = RETRY;
  const isolates = await Promise.all(
    peers.map((peer) => startIsolates(peer, { limits, asks: [] }, () => reached(peer, { server, service }))),
  );
  const startMs = beginning(limits[0].windowMs);
  const results: Retries = new Map();
  await Promise.all(
    peers.map(async (peer, p) => {
      const rounds: Retry[][] = [];
      for (const [i, after] of all.entries()) {
        // Leave several quiet windows after each round.
        const instants = after.map((ms) => startMs + 4 * limits[0].windowMs * i + ms);
        const retry = { key: `${nameOf(peer)}${i}`, limit: limits[0].limit, parts, instants };
        rounds.push(await isolates[p]![0]!.ask<Retry[]>({ retry }));
      }
      const errors = rounds.filter((round) => round.length > 0).map(retryError);
      const mean = (of: (error: { early: number; late: number }) => number) =>
        errors.reduce((sum, error) => sum + of(error), 0) / errors.length;
      results.set(peer, {
        early: mean(({ early }) => early),
        late: mean(({ late }) => late),
        promised: errors.length > 0,
      });
    }),
  );
  await Promise.all(isolates.flat().map((isolate) => isolate.stop()));
  await service.stop();
  await server.stop();
  return results;
}

export const truth: Part = async ({ quick, progress, option }) => {
  const [onlyPeer, onlyTrace] = [option("peer"), option("trace")];
  const peers = PEERS.filter((peer) => onlyPeer === undefined || peer === onlyPeer);
  // The short form leaves the binding out: its windows are five times as long.
  const withBinding = onlyPeer === undefined ? !quick : onlyPeer === BINDING;
  const isWanted = (name: string) => (onlyTrace === undefined ? !quick || QUICK.includes(name) : name === onlyTrace);
  const traces = TRACES.filter(({ name }) => isWanted(name));
  const withRetry = isWanted(RETRY.name);
  if (peers.length === 0 && !withBinding) throw new Error(`--peer: expected one of ${[...PEERS, BINDING].join(" · ")}`);
  if (traces.length === 0 && !withRetry) {
    throw new Error(`--trace: expected one of ${[...TRACES, RETRY].map(({ name }) => name).join(", ")}`);
  }

  const results = new Map(traces.map(({ name }) => [name, new Map<string, Result>()]));
  const retries: Retries | undefined = withRetry ? new Map() : undefined;
  const size = quick ? 8 : AT_ONCE;
  for (let from = 0; from < peers.length; from += size) {
    const group = peers.slice(from, from + size);
    const which = `${from + 1} to ${from + group.length} of ${peers.length} limiters`;
    for (const trace of traces) {
      progress(`${which}: ${trace.name}`);
      for (const [peer, result] of await runTrace(trace, group)) results.get(trace.name)!.set(peer, result);
    }
    if (!retries) continue;
    progress(`${which}: ${RETRY.name}`);
    for (const [peer, error] of await runRetries(group)) retries.set(peer, error);
  }
  if (withBinding) {
    progress(BINDING);
    const windows = traces.filter(({ isCharged }) => !isCharged);
    for (const [name, result] of await runBinding(windows)) results.get(name)!.set(BINDING, result);
  }
  return report(withBinding ? [...peers, BINDING] : peers, traces, results, retries);
};
