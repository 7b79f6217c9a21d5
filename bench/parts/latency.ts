/** Part 2: what each limiter adds to a request in workerd, how often it calls Redis, and how many requests it serves. */

import { startRedisServer } from "../../scripts/redis-server.ts";
import { startBinding } from "../support/binding.ts";
import { bars } from "../support/chart.ts";
import { type LimiterWorker, WORKERS } from "../support/limiters.ts";
import { type Answer, flooded, paced } from "../support/load.ts";
import { number, type Part, type Section, type Target, table } from "../support/part.ts";
import { type Service, startService } from "../support/service.ts";
import { median, percentile } from "../support/stats.ts";
import { bundleWorker, startWorkerd, type Workerd } from "../support/workerd.ts";

const PER_SECOND = 100;
const WINDOW_MS = 2_000;
const LOADS = [0.5, 1, 2, 10] as const;
const ROUND_TRIPS_MS = [0, 20, 80] as const;
const HAMMERED = { limit: 10, windowMs: 60_000 } as const;
/** One address of each run: counts of the run before must not matter. */
const clientOf = (n: number) => `198.51.100.${n}`;

interface Measured {
  readonly worker: LimiterWorker;
  readonly answers: readonly Answer[];
  readonly calls: number;
}

type Running = { readonly worker: LimiterWorker; readonly server: Pick<Workerd, "port" | "cpuMs" | "stop"> };

export const latency: Part = async ({ quick, progress }) => {
  const redis = await startRedisServer();
  const service = await startService(redis.url);
  const codes = new Map<string, string>();
  for (const { file } of WORKERS) codes.set(file, await bundleWorker(file));
  const start = (limit: number, windowMs: number, among = WORKERS) => startAll(codes, service, limit, windowMs, among);

  try {
    const cells = new Map<string, Measured[]>();
    let client = 1;
    for (const load of LOADS) {
      const running = await start((PER_SECOND * WINDOW_MS) / 1000 / load, WINDOW_MS);
      for (const roundTripMs of ROUND_TRIPS_MS) {
        progress(`${load} x the limit, ${roundTripMs} ms to Redis`);
        service.roundTripMs = roundTripMs;
        await atOnce(running, service, PER_SECOND, 1_000, clientOf(++client));
        const measured = await atOnce(running, service, PER_SECOND, quick ? 2_000 : 8_000, clientOf(client));
        cells.set(`${roundTripMs}/${load}`, measured);
      }
      await Promise.all(running.map(({ server }) => server.stop()));
    }

    progress("a client that hammers");
    service.roundTripMs = 20;
    const running = await start(HAMMERED.limit, HAMMERED.windowMs);
    const hammered = await atOnce(running, service, 2 * PER_SECOND, quick ? 5_000 : 15_000, clientOf(++client));
    await Promise.all(running.map(({ server }) => server.stop()));

    service.roundTripMs = 0;
    const throughput = await serve(start, quick ? 3 : 15, progress);
    return sectionOf(cells, hammered, throughput);
  } finally {
    await service.stop();
    await redis.stop();
  }
};

async function startAll(
  codes: ReadonlyMap<string, string>,
  service: Service,
  limit: number,
  windowMs: number,
  among: readonly LimiterWorker[],
): Promise<Running[]> {
  return await Promise.all(
    among.map(async (worker) => {
      const code = codes.get(worker.file)!;
      if (worker.id === "binding") return { worker, server: await startBinding(code, limit, windowMs) };
      const bindings = worker.bindings(`${service.url}/${worker.id}`, service.token, { limit, windowMs });
      return { worker, server: await startWorkerd(code, bindings) };
    }),
  );
}

/** All Workers under the same load in the same seconds, so that a busy moment of the machine meets all of them. */
async function atOnce(
  running: readonly Running[],
  service: Service,
  perSecond: number,
  forMs: number,
  client: string,
): Promise<Measured[]> {
  return await Promise.all(
    running.map(async ({ worker, server }, i) => {
      // Not all in the same millisecond.
      await new Promise((resolve) => setTimeout(resolve, i));
      const before = service.calls(worker.id);
      const answers = await paced(server.port, perSecond, forMs, client);
      const failed = answers.find(({ status }) => status !== 200 && status !== 429);
      if (failed) throw new Error(`${worker.title}: expected 200 or 429, found ${failed.status}`);
      return { worker, answers, calls: service.calls(worker.id) - before };
    }),
  );
}

interface Served {
  readonly title: string;
  readonly perSecond: number[];
  readonly cpuUs: number[];
}

/** How many requests are served when the answer is in the isolate, by turns. */
async function serve(
  start: (limit: number, windowMs: number, among: readonly LimiterWorker[]) => Promise<Running[]>,
  rounds: number,
  progress: (what: string) => void,
): Promise<Served[]> {
  const HOUR_MS = 3_600_000;
  const by = (...ids: string[]) => WORKERS.filter(({ id }) => ids.includes(id));
  const running = [
    ...(await start(1, HOUR_MS, by("none", "strict", "upstash"))),
    ...(await start(1_000_000_000, HOUR_MS, by("leased", "upstash-cached"))),
  ];
  const served = running.map(({ worker }): Served => {
    const answer =
      worker.id === "none" ? "" : worker.id === "strict" || worker.id === "upstash" ? ": refused" : ": admitted";
    return { title: `${worker.title}${answer}`, perSecond: [], cpuUs: [] };
  });
  for (let round = -1; round < rounds; round++) {
    progress(`local answers, ${round + 1} of ${rounds}`);
    for (const [i, { server, worker }] of running.entries()) {
      const before = server.cpuMs();
      const { perSecond, statuses } = await flooded(server.port, 500, "203.0.113.9");
      const count = [...statuses.values()].reduce((a, b) => a + b, 0);
      if ((statuses.get(200) ?? 0) + (statuses.get(429) ?? 0) !== count)
        throw new Error(`${worker.title}: not all 200 or 429`);
      const after = server.cpuMs();
      if (round < 0) continue;
      served[i]!.perSecond.push(perSecond);
      if (before !== undefined && after !== undefined) served[i]!.cpuUs.push((1000 * (after - before)) / count);
    }
  }
  await Promise.all(running.map(({ server }) => server.stop()));
  return served;
}

function sectionOf(
  cells: ReadonlyMap<string, Measured[]>,
  hammered: readonly Measured[],
  served: readonly Served[],
): Section {
  const p = (answers: readonly Answer[], part: number) =>
    percentile(
      answers.map(({ latencyMs }) => latencyMs),
      part,
    );
  const added = (measured: readonly Measured[], i: number, part: number) =>
    p(measured[i]!.answers, part) - p(measured[0]!.answers, part);
  const refused = ({ answers }: Measured) => answers.filter(({ status }) => status === 429);
  const admitted = ({ answers }: Measured) => answers.filter(({ status }) => status === 200);
  const figures: Record<string, number> = {};
  const half = cells.get("80/0.5")!;

  const latencyRows = ROUND_TRIPS_MS.flatMap((ms) =>
    LOADS.map((load) => ({ ms, load, measured: cells.get(`${ms}/${load}`)! })),
  );
  const tables = WORKERS.slice(1).map(({ title, id, local }, index) => {
    const i = index + 1;
    const rows = latencyRows.map(({ ms, load, measured }) => {
      const one = measured[i]!;
      figures[`calls ${id} ${ms}/${load}`] = one.calls / one.answers.length;
      figures[`admitted ${id} ${ms}/${load}`] = admitted(one).length / one.answers.length;
      return [
        ms,
        load,
        number(added(measured, i, 0.5)),
        number(added(measured, i, 0.99)),
        number(p(admitted(one), 0.5)),
        number(p(refused(one), 0.5)),
        `${((100 * refused(one).length) / one.answers.length).toFixed(0)} %`,
        number(one.calls / one.answers.length),
      ];
    });
    const head = [
      "ms to Redis",
      "load / limit",
      "added p50, ms",
      "added p99, ms",
      "admitted p50, ms",
      "refused p50, ms",
      "refused",
      "Redis calls / request",
    ];
    return `<details><summary>${title}${local ? ` (${local})` : ""}</summary>\n\n${table(head, rows)}\n\n</details>`;
  });

  const summary = WORKERS.slice(1).map(({ title, local }, index) => {
    const cell = (ms: number, load: number) => number(added(cells.get(`${ms}/${load}`)!, index + 1, 0.5));
    const calls = LOADS.map((load) => {
      const one = cells.get(`80/${load}`)![index + 1]!;
      return number(one.calls / one.answers.length);
    });
    const name = local ? `${title} *` : title;
    return [
      name,
      cell(0, 0.5),
      cell(20, 0.5),
      cell(80, 0.5),
      number(added(half, index + 1, 0.99)),
      cell(80, 10),
      ...calls,
    ];
  });
  const head = [
    "",
    "p50 at 0 ms",
    "20 ms",
    "80 ms",
    "p99 at 80 ms",
    "p50, 80 ms, 10 x",
    "calls 0.5 x",
    "1 x",
    "2 x",
    "10 x",
  ];

  const shared = WORKERS.flatMap((worker, i) =>
    i > 0 && !worker.local && !worker.id.match(/strict|leased/) ? [i] : [],
  );
  const at = (id: string) => WORKERS.findIndex((worker) => worker.id === id);
  const best = Math.min(...shared.map((i) => added(half, i, 0.5)));
  const leased = added(half, at("leased"), 0.5);
  const withoutCache = shared.filter((i) => WORKERS[i]!.id !== "upstash");
  const fewest = Math.min(...withoutCache.map((i) => hammered[i]!.calls));
  const ours = Math.max(hammered[at("strict")]!.calls, hammered[at("leased")]!.calls);
  const hammerRows = hammered.slice(1).map((one) => {
    figures[`hammered calls ${one.worker.id}`] = one.calls / one.answers.length;
    return [
      one.worker.local ? `${one.worker.title} *` : one.worker.title,
      one.calls,
      number((1000 * one.calls) / one.answers.length),
      admitted(one).length,
      number(p(refused(one), 0.5)),
    ];
  });

  const [none] = served as [Served];
  const ratio = (one: Served) => median(one.perSecond.map((value, i) => value / none.perSecond[i]!));
  const cpuRatio = (one: Served) => median(one.cpuUs.map((value, i) => none.cpuUs[i]! / value));
  const servedRows = served.map((one) => [
    one.title,
    number(ratio(one)),
    number(cpuRatio(one)),
    number(median(one.perSecond)),
    number(median(one.cpuUs)),
  ]);
  for (const one of served) figures[`cpu ${one.title}`] = median(one.cpuUs);
  const local = served.filter(({ title }) => title.startsWith("headgate"));
  const targets: Target[] = [
    {
      what: "80 ms to Redis, load at half the limit, 100 requests per second and key: median added by `leased` / by the best peer whose count all isolates share",
      bound: "< 1/50",
      measured:
        leased <= 0
          ? `none measurable (${number(leased)} ms) / ${number(best)} ms`
          : `1/${number(best / leased)} (${number(leased)} / ${number(best)} ms)`,
      holds: leased < best / 50,
    },
    {
      what: "A refused client that hammers: Redis calls of the peers without a cache / headgate's",
      bound: "≥ 20",
      measured: number(fewest / ours),
      holds: fewest >= 20 * ours,
    },
    ...local.map((one) => ({
      what: `Local answers (${one.title.replace("headgate, ", "")}): requests per second / the same Worker without a limiter`,
      bound: "≥ 0.8",
      measured: `${number(ratio(one))} (by CPU time ${number(cpuRatio(one))})`,
      holds: ratio(one) >= 0.8 && !(cpuRatio(one) < 0.8),
    })),
  ];
  const chart = (title: string, unit: string, value: (i: number) => number) =>
    bars({
      title,
      unit,
      logarithmic: true,
      rows: WORKERS.slice(1).map((worker, i) => ({ name: worker.title.replaceAll("`", ""), value: value(i + 1) })),
    });
  const markdown = [
    "Median added to a request, in ms, at half the limit; then Redis calls per request at 0.5, 1, 2 and 10 times the limit, 80 ms to Redis.",
    table(head, summary),
    "\\* Not a count that all isolates share: `cachedFixedWindow` is called experimental by its documentation and lets each isolate count by itself (see the trace `isolates`); the binding is Miniflare's simulation, in the same process.",
    `### A client that hammers\n\n${HAMMERED.limit} per minute, 200 requests per second from one client, 20 ms to Redis.`,
    table(["", "Redis calls", "per 1000 requests", "admitted", "refused p50, ms"], hammerRows),
    "### Served from the isolate\n\nAs many requests as the Worker can serve, nothing asked of Redis; by turns of half a second, ratios within a turn.",
    table(
      ["", "requests per second / no limiter", "by CPU time", "requests per second", "CPU µs / request"],
      servedRows,
    ),
    `### All figures\n\n${tables.join("\n\n")}`,
  ].join("\n\n");
  return {
    markdown,
    targets,
    figures,
    charts: {
      "latency.svg": chart("Median added to a request, 80 ms to Redis, half the limit", "ms", (i) =>
        Math.max(0.01, added(half, i, 0.5)),
      ),
      "calls.svg": chart("Redis calls per 1000 requests of a refused client that hammers", "", (i) =>
        Math.max(0.1, (1000 * hammered[i]!.calls) / hammered[i]!.answers.length),
      ),
    },
  };
}
