/**
 * How long an isolate reads a large live document: the first time, when its code is not compiled yet, and later. What
 * the document adds to a request is measured by `npm run bench -- features`.
 *
 *   npm run bench:live
 */

import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { parsePolicies } from "../src/config/policies.ts";
import { readLive } from "../src/limiter/live/document.ts";
import { viewOf } from "../src/limiter/live/view.ts";

/** Each figure is the least of this many runs, because other work shares the machine. */
const RUNS = 31;
/** Isolates that read each document for the first time. */
const ISOLATES = 15;
/** The largest document. */
const KIB_256 = 262_144;

const parsed = parsePolicies(
  ["api", "login", "site"].map((name) => ({ name, limits: [{ limit: 1, window: "1d" }] })),
  "policies",
);
if (parsed.mistakes) throw new Error("the policies of this benchmark have mistakes");
const policies = parsed.value;

/** A document with overrides of this many clients, whose notes fill it up to `bytes`. */
function documentOf(clients: number, bytes = 0): string {
  const text = (note: string) => {
    const overrides = Array.from({ length: clients }, (_, i) => {
      const { name } = policies[i % policies.length]!;
      const key = String(i).padStart(22, "k");
      const numbers = i % 2 ? { factor: 2 } : { limits: { [name]: 1 } };
      return { policy: name, kind: "key", key, ...numbers, until: "2099-01-01T00:00:00Z", note };
    });
    return JSON.stringify({ policies: { login: { mode: "shadow" } }, overrides });
  };
  return text("n".repeat(Math.max(1, Math.floor((bytes - text("").length) / clients))));
}

/** The least time of each kind of work. All kinds take turns. */
async function leastMs(works: readonly (() => unknown)[]): Promise<number[]> {
  const least = works.map(() => Number.POSITIVE_INFINITY);
  for (let run = 0; run < RUNS; run++) {
    for (const [w, work] of works.entries()) {
      const startMs = performance.now();
      await work();
      least[w] = Math.min(least[w]!, performance.now() - startMs);
    }
  }
  return least;
}

/** The least times of reading and viewing a document in a new isolate, in ms. */
async function firstMs(text: string): Promise<[readMs: number, viewMs: number]> {
  const least: [number, number] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let i = 0; i < ISOLATES; i++) {
    const isolate = new Worker(new URL("live.isolate.ts", import.meta.url), { workerData: { text, policies } });
    const [[readMs, viewMs]] = (await once(isolate, "message")) as [[number, number]];
    least[0] = Math.min(least[0], readMs);
    least[1] = Math.min(least[1], viewMs);
  }
  return least;
}

console.log(
  "| a document | KiB | read, ms | viewed, ms | first read, ms | first viewed, ms |\n|---|---|---|---|---|---|",
);
for (const [what, text] of [
  ["1,000 overrides", documentOf(1_000)],
  ["2,000 overrides", documentOf(2_000, KIB_256)],
  ["500 overrides with long notes", documentOf(500, KIB_256)],
] as const) {
  const document = readLive(text)!;
  const later = await leastMs([() => readLive(text), () => viewOf(1, document, policies, "")]);
  const figures = [...later, ...(await firstMs(text))].map((ms) => ms.toFixed(2));
  console.log(`| ${what} | ${(text.length / 1_024).toFixed(0)} | ${figures.join(" | ")} |`);
}
