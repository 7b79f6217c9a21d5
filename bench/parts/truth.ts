/** Part 3: what each limiter lets through, wrongly refuses, wrongly charges and promises, on the same traces in real time. */

import { Worker } from "node:worker_threads";
import { type RedisServer, startRedisServer } from "../../scripts/redis-server.ts";
import { bars } from "../support/chart.ts";
import { number, type Part, type Target, table } from "../support/part.ts";
import { type Service, startService } from "../support/service.ts";
import { type Admission, possibleUnits, type Retry, retryError, worstWindow } from "../support/stats.ts";
import { RETRY, TRACES, type Trace } from "../truth/traces.ts";

/** As bench/peers/limiters.mjs has them; here by name, so that nothing of the peers is loaded before they are installed. */
const PEERS = [
  "headgate sliding-window",
  "headgate leased",
  "headgate 10 buckets, whole",
  "headgate sliding-log",
  "headgate fixed-window",
  "upstash slidingWindow, cache",
  "upstash slidingWindow, no cache",
  "upstash fixedWindow, cache",
  "upstash cachedFixedWindow",
  "hono-rate-limiter",
  "rate-limiter-flexible",
  "rate-limiter-flexible, block",
  "INCR + EXPIRE",
  "sorted-set log",
  "hash of sub-buckets",
] as const;

/** So many are driven at a time: all at once would be a test of this machine. */
const AT_ONCE = 5;
/** Clocks of Redis and of the isolates tick in ms. */
const TICK_MS = 2;

interface Answered {
  readonly cost: number;
  readonly sentAtMs: number;
  readonly doneAtMs: number;
  readonly allowed: boolean;
  readonly failed?: string;
}

interface Result {
  readonly worst: number;
  /** Part of the requests that were refused although the true window had room. */
  readonly unused: number;
  /** The same by the definition of the weighted counter, over aligned windows: what a cache refuses that the algorithm would admit. */
  readonly wrong: number;
  readonly admitted: number;
  readonly failed: number;
  readonly overcharged?: number;
}

interface Parts {
  readonly server: RedisServer;
  readonly service: Service;
}

/** All share one Redis, and nothing in it. */
const nameOf = (peer: string) => peer.replaceAll(/[^a-z0-9]/gi, "");
const now = () => performance.timeOrigin + performance.now();

class Isolate {
  readonly #worker: Worker;
  constructor(peer: string, { server, service }: Parts, limits: Trace["limits"], skewMs: number) {
    const workerData = {
      peer,
      service: { url: `${service.url}/${nameOf(peer)}`, token: service.token, redisUrl: server.url },
      limits,
      skewMs,
    };
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

async function startIsolates(
  peer: string,
  trace: Pick<Trace, "limits" | "skewMs" | "asks">,
  parts: Parts,
): Promise<Isolate[]> {
  const count = 1 + Math.max(0, ...trace.asks.map(({ isolate }) => isolate));
  const isolates = Array.from(
    { length: count },
    (_, i) => new Isolate(peer, parts, trace.limits, trace.skewMs?.[i] ?? 0),
  );
  await Promise.all(isolates.map((isolate) => isolate.next()));
  return isolates;
}

/** Far enough in the future to send everything out, and at the beginning of a window of every length. */
function beginning(windowMs: number): number {
  const soonMs = now() + 300;
  // A long window only has to hold the whole trace.
  if (windowMs >= 60_000)
    return soonMs % windowMs > windowMs - 8_000 ? Math.ceil(soonMs / windowMs) * windowMs : soonMs;
  return Math.ceil(soonMs / windowMs) * windowMs;
}

async function runTrace(trace: Trace, peers: readonly string[]): Promise<Map<string, Result>> {
  const server = await startRedisServer();
  const services = await Promise.all(peers.map(() => startService(server.url)));
  const isolates = await Promise.all(
    peers.map((peer, i) => startIsolates(peer, trace, { server, service: services[i]! })),
  );
  for (const service of services) service.loseEvery = trace.loseEvery ?? 0;
  const { windowMs, limit } = trace.limits[0]!;
  const startMs = beginning(windowMs);
  const results = new Map<string, Result>();
  await Promise.all(
    peers.map(async (peer, p) => {
      const answers = await Promise.all(
        isolates[p]!.map((isolate, i) => {
          const own = trace.asks.filter((one) => one.isolate === i);
          const requests = own.map(({ afterMs, cost }) => ({ atMs: startMs + afterMs, key: nameOf(peer), cost }));
          return isolate.ask<Answered[]>({ requests });
        }),
      );
      services[p]!.loseEvery = 0;
      const all = answers.flat();
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

function judge(answers: readonly Answered[], limit: number, windowMs: number): Result {
  const admitted = answers.filter(({ allowed }) => allowed).map((one): Admission => ({ ...one, units: one.cost }));
  const refused = answers.filter(({ allowed, failed }) => !allowed && failed === undefined);
  // Room whenever, between sending and answer, it was decided.
  const hadRoom = ({ sentAtMs, doneAtMs, cost }: Answered) =>
    possibleUnits(admitted, sentAtMs - windowMs - TICK_MS, doneAtMs) + cost <= limit;
  const counterHadRoom = ({ sentAtMs, doneAtMs, cost }: Answered) => {
    const startMs = Math.floor(sentAtMs / windowMs) * windowMs;
    if (doneAtMs > startMs + windowMs - TICK_MS || sentAtMs < startMs + TICK_MS) return false;
    const previous = possibleUnits(admitted, startMs - windowMs - TICK_MS, startMs + TICK_MS);
    const left = 1 - (sentAtMs - TICK_MS - startMs) / windowMs;
    return possibleUnits(admitted, startMs - TICK_MS, doneAtMs) + previous * left + cost <= limit;
  };
  return {
    worst: worstWindow(admitted, windowMs - TICK_MS) / limit,
    unused: refused.filter(hadRoom).length / answers.length,
    wrong: refused.filter(counterHadRoom).length / answers.length,
    admitted: admitted.reduce((sum, { units }) => sum + units, 0),
    failed: answers.filter(({ failed }) => failed !== undefined).length,
  };
}

type Retries = Map<string, { early: number; late: number; promised: boolean }>;

async function runRetries(peers: readonly string[]): Promise<Retries> {
  const server = await startRedisServer();
  const service = await startService(server.url);
  const { limits, atMs, parts } = RETRY;
  const isolates = await Promise.all(
    peers.map((peer) => startIsolates(peer, { limits, asks: [] }, { server, service })),
  );
  const startMs = beginning(limits[0].windowMs);
  const results: Retries = new Map();
  await Promise.all(
    peers.map(async (peer, p) => {
      const rounds: Retry[][] = [];
      for (const [i, after] of atMs.entries()) {
        // Two windows of peace after each.
        const retry = {
          key: `${nameOf(peer)}${i}`,
          limit: limits[0].limit,
          parts,
          atMs: startMs + 4 * limits[0].windowMs * i + after,
        };
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
  const traces = TRACES.filter(({ name }) => onlyTrace === undefined || name === onlyTrace);
  const withRetry = onlyTrace === undefined || onlyTrace === RETRY.name;
  if (peers.length === 0) throw new Error(`--peer: expected one of ${PEERS.join(" · ")}`);
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
  return report(peers, traces, results, retries);
};

function report(
  peers: readonly string[],
  traces: readonly Trace[],
  results: ReadonlyMap<string, ReadonlyMap<string, Result>>,
  retries: Retries | undefined,
) {
  const percent = (part: number) => `${(100 * part).toFixed(part > 0 && part < 0.1 ? 1 : 0)} %`;
  const windows = traces.filter(({ isCharged }) => !isCharged);
  const charges = traces.filter(({ isCharged }) => isCharged);
  const of = (trace: Trace, peer: string) => results.get(trace.name)!.get(peer)!;
  const parts: string[] = [
    table(
      ["trace", ""],
      [...traces, ...(retries ? [RETRY] : [])].map(({ name, about }) => [`\`${name}\``, about]),
    ),
  ];
  if (windows.length > 0) {
    const names = windows.map(({ name }) => `\`${name}\``);
    const rows = (value: (result: Result) => string) =>
      peers.map((peer) => [peer, ...windows.map((trace) => value(of(trace, peer)))]);
    parts.push(
      "### Admitted in the worst true window / limit",
      table(
        ["", ...names],
        rows(({ worst }) => (worst > 1.005 ? `**${number(worst)}**` : number(worst))),
      ),
      "### Refused although the true window had room, part of all requests",
      table(
        ["", ...names],
        rows(({ unused }) => percent(unused)),
      ),
      "### Refused although the weighted two-window counter would admit, part of all requests\n\nFor the limiters that use this counter: what a cache or a lease refuses beyond it.",
      table(
        ["", ...names],
        peers
          .filter((peer) => /headgate (sliding-window|leased)|slidingWindow/.test(peer))
          .map((peer) => [peer, ...windows.map((trace) => percent(of(trace, peer).wrong))]),
      ),
    );
  }
  if (charges.length > 0) {
    const rows = peers.map((peer) => [
      peer,
      ...charges.map((trace) => {
        const { overcharged, failed } = of(trace, peer);
        return `${overcharged! > 0 ? "+" : ""}${overcharged}${failed > 0 ? ` (${failed} errors)` : ""}`;
      }),
    ]);
    parts.push(
      "### Units charged beyond those admitted",
      table(["", ...charges.map(({ name }) => `\`${name}\``)], rows),
    );
  }
  if (retries) {
    const rows = peers.map((peer) => {
      const { early, late, promised } = retries.get(peer)!;
      return promised ? [peer, percent(early), percent(late)] : [peer, "no wait told", "–"];
    });
    parts.push(
      "### The promised wait\n\nRefused again of those that waited as told; and which part of the wait was needless, since asking earlier was admitted.",
      table(["", "refused again", "needless"], rows),
    );
  }

  const targets: Target[] = [];
  const hammer = windows.find(({ name }) => name === "hammer");
  if (hammer && peers.length === PEERS.length) {
    const [ours, cached] = [of(hammer, PEERS[0]), of(hammer, "upstash slidingWindow, cache")];
    targets.push({
      what: "A hammering client: refused although the counter would admit (`@upstash/ratelimit` with its cache, which refuses until the window's end)",
      bound: "none",
      measured: `${percent(ours.wrong)} (${percent(cached.wrong)})`,
      holds: ours.wrong === 0,
    });
  }
  const boundary = windows.find(({ name }) => name === "boundary");
  const charts = boundary
    ? {
        "boundary.svg": bars({
          title: "Admitted in the worst window / limit, bursts around a window's end",
          unit: "×",
          mark: 1,
          rows: peers.map((name) => ({ name, value: of(boundary, name).worst })),
        }),
      }
    : ({} as Record<string, string>);
  return { markdown: parts.join("\n\n"), targets, charts, figures: {} };
}
