/** Part 4: how much each limiter adds to a minimal Worker's size, and to the time until its first answer. */

import { gzipSync } from "node:zlib";
import { startRedisServer } from "../../scripts/machine/redis-server.ts";
import { WORKERS } from "../support/limiters.ts";
import { figure, type Part, table, turnsOf } from "../support/part.ts";
import { startService } from "../support/service.ts";
import { median } from "../support/stats.ts";
import { bundleWorker, startWorkerd } from "../support/workerd.ts";

export const size: Part = async ({ quick, progress }) => {
  const rounds = quick ? 3 : 6;
  const server = await startRedisServer();
  const service = await startService(server.url);
  try {
    const workers = await Promise.all(
      WORKERS.map(async (worker) => {
        const code = await bundleWorker(worker.file);
        return { ...worker, code, bytes: gzipSync(code).length, firstMs: [] as number[] };
      }),
    );
    const distinct = workers.filter((worker, i) => workers.findIndex(({ file }) => file === worker.file) === i);
    for (let round = 0; round < rounds; round++) {
      progress(`start ${round + 1} of ${rounds}`);
      for (const i of turnsOf(distinct.length, round)) {
        const worker = distinct[i]!;
        // Miniflare simulates the binding, so the time would be Miniflare's.
        if (worker.id === "binding") continue;
        const bindings = worker.bindings(`${service.url}/size`, service.token, { limit: 1000, windowMs: 60_000 });
        const workerd = await startWorkerd(worker.code, bindings);
        worker.firstMs.push(workerd.firstAnswerMs);
        await workerd.stop();
      }
    }
    const [none] = distinct;
    const rows = distinct.map(({ library, bytes, firstMs }) => [
      library,
      figure(bytes / 1024),
      figure((bytes - none!.bytes) / 1024),
      ...(firstMs.length > 0
        ? [figure(median(firstMs)), figure(median(firstMs.map((ms, i) => ms - none!.firstMs[i]!)))]
        : ["–", "–"]),
    ]);
    const chart = {
      title: "Minimal Worker with each limiter, minified",
      unit: "KiB gzip",
      rows: distinct.map(({ library, bytes }) => ({ name: library, value: bytes / 1024 })),
    };
    const head = ["", "KiB gzip", "added, KiB gzip", "first answer, ms", "added by the limiter, ms"];
    return {
      blocks: [table(head, rows)],
      targets: [],
      charts: { "size.svg": chart },
      figures: Object.fromEntries(
        distinct.flatMap(({ library, bytes, firstMs }) => [
          [`added KiB ${library}`, (bytes - none!.bytes) / 1024],
          [`added ms ${library}`, median(firstMs.map((ms, i) => ms - none!.firstMs[i]!))],
        ]),
      ),
    };
  } finally {
    await service.stop();
    await server.stop();
  }
};
