/**
 * Part 2: how much each limiter adds to a request in workerd, how often it calls Redis, and how many requests it
 * serves.
 */

import { startRedisServer } from "../../scripts/machine/redis-server.ts";
import { startBinding } from "../support/binding.ts";
import { HAMMERED, type Measured, type Served, sectionOf } from "../support/latency-report.ts";
import { FIELDS, forwarding, LIBRARY, type LimiterWorker, UNMATCHED, WORKERS } from "../support/limiters.ts";
import { flooded, paced } from "../support/load.ts";
import { type Part, turnsOf } from "../support/part.ts";
import { type Service, startService } from "../support/service.ts";
import { bundleWorker, startWorkerd, type Workerd } from "../support/workerd.ts";

const PER_SECOND = 100;
const WINDOW_MS = 2_000;
const MINUTE_MS = 60_000;
/** Multiples of the limit. */
const LOADS = [0.5, 2, 10];
const QUICK_LOADS = [0.5, 10];
/** How many limiters are under load at a time, beside the baseline. More would measure the load on this machine. */
const AT_ONCE = 2;
/** Each limiter has its own key in each run, so that nobody else uses up its limit. */
const clientOf = (run: number, limiter: number) => `198.51.${run}.${limiter}`;
/** How long each limiter is measured, in ms: one window of 2 s. The repetitions of the part show the spread. */
const MEASURED_MS = 2_000;
/** The same where a window is a minute. */
const LASTING_MS = 6_000;

type Running = { readonly worker: LimiterWorker; readonly server: Pick<Workerd, "port" | "cpuMs" | "stop"> };

export const latency: Part = async ({ quick, progress }) => {
  // Many processes are started, and each adds one listener.
  process.setMaxListeners(64);
  const redis = await startRedisServer();
  const service = await startService(redis.url);
  const codes = new Map<string, string>();
  for (const { file } of [...WORKERS, FIELDS, LIBRARY, ...forwarding("")]) codes.set(file, await bundleWorker(file));
  const start = (limit: number, windowMs: number, among = WORKERS) => startAll(codes, service, limit, windowMs, among);
  const idle = () => service.idle();

  try {
    const cells = new Map<number, Measured[]>();
    let run = 0;
    service.roundTripMs = 80;
    for (const load of quick ? QUICK_LOADS : LOADS) {
      const running = await start((PER_SECOND * WINDOW_MS) / 1000 / load, WINDOW_MS);
      progress(`${load} x the limit, 80 ms to Redis`);
      cells.set(load, await inGroups(running, service, PER_SECOND, quick ? 1_000 : MEASURED_MS, ++run));
      await Promise.all(running.map(({ server }) => server.stop()));
    }

    progress(`half the limit, ${MINUTE_MS} ms window, 80 ms to Redis`);
    const lasting = await start((2 * PER_SECOND * MINUTE_MS) / 1000, MINUTE_MS);
    const half = await inGroups(lasting, service, PER_SECOND, quick ? 1_000 : LASTING_MS, ++run);
    await Promise.all(lasting.map(({ server }) => server.stop()));

    progress("a client that hammers");
    service.roundTripMs = 20;
    const running = await start(HAMMERED.limit, HAMMERED.windowMs);
    const hammered = await inGroups(running, service, 2 * PER_SECOND, quick ? 1_500 : LASTING_MS, ++run);
    await Promise.all(running.map(({ server }) => server.stop()));

    service.roundTripMs = 0;
    const by = (...ids: string[]) => WORKERS.filter(({ id }) => ids.includes(id));
    // The JIT compiler is at work during an isolate's first tens of thousands of requests.
    const turns = quick ? { rounds: 2, warmUp: 1 } : { rounds: 6, warmUp: 12 };
    const refusing = [...by("none"), FIELDS, UNMATCHED, ...by("strict"), LIBRARY, ...by("upstash")];
    const within = await serve({ start, idle }, refusing, by("leased", "upstash-cached"), ++run, turns, (round) =>
      progress(`local answers, ${round}`),
    );
    const origin = await startWorkerd(await bundleWorker("origin.mjs"), {});
    const inOrder = forwarding(`http://127.0.0.1:${origin.port}`);
    const inFront = await serve({ start, idle }, inOrder.slice(0, -1), inOrder.slice(-1), ++run, turns, (round) =>
      progress(`in front of an origin, ${round}`),
    );
    await origin.stop();
    return sectionOf(cells, half, hammered, { within, inFront });
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

/**
 * Measures all limiters, a few at a time. The baseline runs in the same seconds, so that a busy moment of the machine
 * slows both.
 */
async function inGroups(
  [none, ...limiters]: readonly Running[],
  service: Service,
  perSecond: number,
  forMs: number,
  run: number,
): Promise<Measured[]> {
  const measured: Measured[] = [];
  for (let from = 0; from < limiters.length; from += AT_ONCE) {
    const group = [none!, ...limiters.slice(from, from + AT_ONCE)];
    const load = (ms: number) =>
      Promise.all(
        group.map(async ({ worker, server }, i) => {
          // Do not start all in the same millisecond.
          await new Promise((resolve) => setTimeout(resolve, 3 * i));
          const answers = await paced(server.port, perSecond, ms, clientOf(run, from + i));
          const failed = answers.find(({ status }) => status !== 200 && status !== 429);
          if (failed) throw new Error(`${worker.title}: expected 200 or 429, found ${failed.status}`);
          return answers;
        }),
      );
    await load(1_000); // warm up counts, leases and connections
    const before = group.map(({ worker }) => service.calls(worker.id));
    const [baseline, ...others] = await load(forMs);
    for (const [i, answers] of others.entries()) {
      const { worker } = group[i + 1]!;
      measured.push({ worker, answers, calls: service.calls(worker.id) - before[i + 1]!, baseline: baseline! });
    }
  }
  return measured;
}

/**
 * How many requests are served when the isolate answers by itself. The Workers take turns, in another order in each
 * round. The first refusing Worker is the baseline.
 */
async function serve(
  {
    start,
    idle,
  }: {
    readonly start: (limit: number, windowMs: number, among: readonly LimiterWorker[]) => Promise<Running[]>;
    readonly idle: () => Promise<void>;
  },
  refusing: readonly LimiterWorker[],
  admitting: readonly LimiterWorker[],
  run: number,
  { rounds, warmUp }: { readonly rounds: number; readonly warmUp: number },
  progress: (round: string) => void,
): Promise<Served[]> {
  const HOUR_MS = 3_600_000;
  const running = [...(await start(1, HOUR_MS, refusing)), ...(await start(1_000_000_000, HOUR_MS, admitting))];
  const served = running.map(({ worker }): Served => {
    const answers: Record<string, string> = {
      strict: ": refused",
      library: ": refused",
      upstash: ": refused",
      leased: ": admitted",
      "upstash-cached": ": admitted",
    };
    const answer = answers[worker.id] ?? "";
    return { id: worker.id, title: `${worker.title}${answer}`, perSecond: [], cpuUs: [] };
  });
  for (let round = -warmUp; round < rounds; round++) {
    progress(round < 0 ? "warming up" : `${round + 1} of ${rounds}`);
    for (const i of turnsOf(running.length, round + warmUp)) {
      const { server, worker } = running[i]!;
      const before = server.cpuMs();
      const { perSecond, statuses } = await flooded(server.port, 500, clientOf(run, i));
      const count = [...statuses.values()].reduce((a, b) => a + b, 0);
      if ((statuses.get(200) ?? 0) + (statuses.get(429) ?? 0) !== count)
        throw new Error(`${worker.title}: not all 200 or 429`);
      // The CPU time of calls in the background is the Worker's own, and must not slow the next one.
      await idle();
      const after = server.cpuMs();
      if (round < 0) continue;
      served[i]!.perSecond.push(perSecond);
      if (before !== undefined && after !== undefined) served[i]!.cpuUs.push((1000 * (after - before)) / count);
    }
  }
  await Promise.all(running.map(({ server }) => server.stop()));
  return served;
}
