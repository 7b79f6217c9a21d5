/** The tables of the part `latency`, and its targets. */

import { FIELDS, LIBRARY, type LimiterWorker, WORKERS } from "./limiters.ts";
import type { Answer } from "./load.ts";
import { type Block, figure, type Section, type Table, type Target, table } from "./part.ts";
import { median, percentile } from "./stats.ts";

export const HAMMERED = { limit: 10, windowMs: 60_000 } as const;

/** Whether all isolates share this limiter's count, and it is not headgate. */
export const isSharedPeer = ({ title, local }: LimiterWorker) => !local && !title.startsWith("headgate");

export interface Measured {
  readonly worker: LimiterWorker;
  readonly answers: readonly Answer[];
  readonly calls: number;
  /** The answers of the Worker without a limiter in the same seconds. */
  readonly baseline: readonly Answer[];
}

export interface Served {
  readonly id: string;
  readonly title: string;
  readonly perSecond: number[];
  readonly cpuUs: number[];
}

/** @param cells what each limiter did with windows of 2 s, 80 ms from Redis, by the load as a multiple of the limit. */
export function sectionOf(
  cells: ReadonlyMap<number, Measured[]>,
  lasting: readonly Measured[],
  hammered: readonly Measured[],
  served: { readonly within: readonly Served[]; readonly inFront: readonly Served[] },
): Section {
  const p = (answers: readonly Answer[], part: number) =>
    percentile(
      answers.map(({ latencyMs }) => latencyMs),
      part,
    );
  const added = ({ answers, baseline }: Measured, part: number) => p(answers, part) - p(baseline, part);
  const refused = ({ answers }: Measured) => answers.filter(({ status }) => status === 429);
  const admitted = ({ answers }: Measured) => answers.filter(({ status }) => status === 200);
  const limiters = WORKERS.slice(1);
  const figures: Record<string, number> = {};

  for (const [load, all] of cells) {
    for (const one of all) {
      figures[`calls ${one.worker.id} 80/${load}`] = one.calls / one.answers.length;
      figures[`admitted ${one.worker.id} 80/${load}`] = admitted(one).length / one.answers.length;
    }
  }

  const lastingOf = (id: string) => lasting.find(({ worker }) => worker.id === id)!;
  const half = (id: string) => added(lastingOf(id), 0.5);
  const lastingRows = lasting.map((one) => {
    figures[`calls ${one.worker.id} minute`] = one.calls / one.answers.length;
    figures[`p50 ${one.worker.id} minute`] = added(one, 0.5);
    figures[`p99 ${one.worker.id} minute`] = added(one, 0.99);
    figures[`admitted ${one.worker.id} minute`] = admitted(one).length / one.answers.length;
    return [
      one.worker.local ? `${one.worker.title} *` : one.worker.title,
      figure(added(one, 0.5)),
      figure(added(one, 0.99)),
      figure(one.calls / one.answers.length),
      figure(refused(one).length / one.answers.length, "percent"),
    ];
  });
  const shared = limiters.filter(isSharedPeer).map(({ id }) => id);
  const best = Math.min(...shared.map(half));
  const leased = half("leased");
  const slowest = (id: string) => added(cells.get(0.5)!.find(({ worker }) => worker.id === id)!, 0.99);
  const slowestOthers = ["strict", ...shared].map(slowest);
  const hammeredCalls = (id: string) => hammered.find(({ worker }) => worker.id === id)!.calls;
  const fewest = Math.min(...shared.filter((id) => id !== "upstash").map(hammeredCalls));
  const ours = Math.max(hammeredCalls("strict"), hammeredCalls("leased"));
  const hammerRows = hammered.map((one) => {
    figures[`hammered calls ${one.worker.id}`] = one.calls / one.answers.length;
    return [
      one.worker.local ? `${one.worker.title} *` : one.worker.title,
      figure(one.calls, "count"),
      figure((1000 * one.calls) / one.answers.length),
      figure(p(refused(one), 0.5)),
    ];
  });

  for (const one of served.inFront) figures[`served in front, ${one.title}`] = ratioOf(served.inFront, one);
  const targets: Target[] = [
    {
      what: "80 ms to Redis, half of the limit: median added by `leased` / by the best peer with a shared count",
      bound: "< 0.02",
      measured:
        // A busy machine may measure less than nothing.
        [figure(leased / best), ": ", figure(leased), " / ", figure(best), " ms"],
      holds: leased < best / 50,
    },
    {
      what: "A client that hammers: Redis calls of peers without a cache / headgate's",
      bound: "≥ 20",
      measured: [figure(fewest, "count"), " / ", figure(ours, "count")],
      holds: fewest >= 20 * ours,
    },
    // A refusal is not here: it forwards nothing, so it cannot lose against a Worker that forwards.
    ...servedTargets(served.inFront, ["leased"], "in front of an origin", "a Worker that only forwards"),
    ...servedTargets(served.within, ["strict", "leased"], "in the same Worker", "the handler alone"),
    ...pairedTargets(served),
  ];
  const chart = (title: string, unit: string, value: (id: string) => number) => ({
    title: `${title}; * no shared count`,
    unit,
    logarithmic: true,
    rows: limiters.map(({ title: name, id, local }) => ({
      name: `${name.replaceAll("`", "")}${local ? " *" : ""}`,
      value: value(id),
    })),
  });
  const blocks: Block[] = [
    "### Half of the limit, 80 ms to Redis\n\nThe limit is 12,000 per minute. One client sends 100 requests per second.",
    table(["", "added p50, ms", "added p99, ms", "Redis calls / request", "refused"], lastingRows),
    [
      "A few requests wait for a lease. With windows of 2 s the p99 of `leased` is ",
      figure(slowest("leased")),
      " ms. That of `strict` and of the peers with a shared count is ",
      figure(Math.min(...slowestOthers)),
      " to ",
      figure(Math.max(...slowestOthers)),
      " ms.",
    ],
    "\\* Not a count that all isolates share. With `cachedFixedWindow` (experimental) each isolate counts by itself. The binding is Miniflare's simulation, in the same process.",
    `### A client that hammers\n\nThe limit is ${HAMMERED.limit} per minute. One client sends 200 requests per second, 20 ms from Redis, after it has used up the limit.`,
    table(["", "Redis calls", "per 1000 requests", "refused p50, ms"], hammerRows),
    "### Served from the isolate\n\nWhat a Worker answers without waiting for Redis. First in front of an origin over HTTP, in a separate Worker. A refusal forwards nothing.",
    servedTable(served.inFront),
    "Then in front of a handler of one line, in the same Worker. `cachedFixedWindow` calls Redis in the background: its row includes that.",
    servedTable(served.within),
  ];
  return {
    blocks,
    targets,
    figures,
    charts: {
      "latency.svg": chart("Median added to a request, 80 ms to Redis, half of 12,000 per minute", "ms", half),
      "calls.svg": chart("Redis calls per 1000 requests of a refused client that hammers", "", (id) => {
        const one = hammered.find(({ worker }) => worker.id === id)!;
        return (1000 * one.calls) / one.answers.length;
      }),
    },
  };
}

/** The median over the rounds of the ratio of two Workers' values in the same round. */
const paired = (a: readonly number[], b: readonly number[]) => median(a.map((value, i) => value / b[i]!));
const ratioOf = ([none]: readonly Served[], one: Served) => paired(one.perSecond, none!.perSecond);
const cpuRatioOf = ([none]: readonly Served[], one: Served) => paired(none!.cpuUs, one.cpuUs);

/** Two Workers of the same table, compared with each other in place of the baseline. */
function pairedTargets({ within, inFront }: { readonly [where in "within" | "inFront"]: readonly Served[] }): Target[] {
  const find = (among: readonly Served[], wanted: string) => among.find(({ id }) => id === wanted)!;
  const [leased, fields] = [find(inFront, "leased"), find(inFront, FIELDS.id)];
  const [library, upstash] = [find(within, LIBRARY.id), find(within, "upstash")];
  const cpu = paired(leased.cpuUs, fields.cpuUs);
  const rate = paired(library.perSecond, upstash.perSecond);
  return [
    {
      what: "CPU time, leased: admitted, in front of an origin / a Worker that forwards with timeout, abort and five fields",
      bound: "≤ 1.15",
      measured: figure(cpu),
      holds: cpu <= 1.15,
    },
    {
      what: "Requests per second, refused, `limiter.take` by hand / `@upstash/ratelimit` with its cache",
      bound: "≥ 1",
      measured: figure(rate),
      holds: rate >= 1,
    },
  ];
}

function servedTargets(served: readonly Served[], ids: readonly string[], where: string, baseline: string): Target[] {
  return served
    .filter(({ id }) => ids.includes(id))
    .map((one) => {
      const [ratio, cpuRatio] = [ratioOf(served, one), cpuRatioOf(served, one)];
      return {
        what: `Requests per second, ${one.title.replace("headgate, ", "")}, ${where} / ${baseline}`,
        bound: "≥ 0.8",
        measured: [figure(ratio), ", by CPU time ", figure(cpuRatio)],
        holds: ratio >= 0.8 && !(cpuRatio < 0.8),
      };
    });
}

function servedTable(served: readonly Served[]): Table {
  return table(
    ["", "requests per second / no limiter", "by CPU time", "requests per second", "CPU µs / request"],
    served.map((one) => [
      one.title,
      figure(ratioOf(served, one)),
      figure(cpuRatioOf(served, one)),
      figure(median(one.perSecond)),
      figure(median(one.cpuUs)),
    ]),
  );
}
