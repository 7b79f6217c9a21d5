/**
 * What the live document costs an isolate, with 1,000 overrides in force: the time that it adds to a refusal from
 * memory (looking whether a newer document is due, and applying this one), and the time of reading a large one: the
 * first time in an isolate, whose code is not compiled yet, and later.
 *
 *   npm run bench:live
 */

import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { parsePolicies } from "../src/config/policies.ts";
import { readLive } from "../src/limiter/live/document.ts";
import { viewOf } from "../src/limiter/live/view.ts";
import { remoteStore } from "../src/limiter/stores/remote-store.ts";
import { limiterOf } from "../src/limiter.ts";
import { memoryLive } from "../src/store/live.ts";
import { memoryStore } from "../src/store/memory.ts";

/** Each figure is the least of this many runs, because other work shares the machine. */
const RUNS = 31;
const REQUESTS = 4_000;
const TARGET_US = 2;
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
function documentOf(clients: number, ownKey: string, bytes = 0): string {
  const text = (note: string) => {
    const overrides = Array.from({ length: clients }, (_, i) => {
      const { name } = policies[i % policies.length]!;
      const key = i === 0 ? ownKey : String(i).padStart(22, "k");
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

// The limiters hash keys alike, so that a key of the document is found in both.
const live = memoryLive();
const limiter = (refresh: object) =>
  limiterOf(policies, {
    store: remoteStore({ ...memoryStore(), kind: "far", keySecret: "secret", live }),
    ...refresh,
  });
const [plain, reading] = [limiter({}), limiter({ liveRefreshMs: 30_000 })];
const { partition } = await plain.client("api", { key: "ann" });
await live.write(documentOf(1_000, partition), 0);
await reading.live!.refresh();
if (!reading.live!.view()!.client("api", partition, Date.now())) throw new Error("the override is not in force");

/** Refusals that the isolate knows by itself. */
const refusals = (of: typeof plain, key: string) => async () => {
  for (let i = 0; i < REQUESTS; i++) {
    if ((await of.take("api", { key })).allowed && i > 0) throw new Error("expected a refusal");
  }
};
const [without, stranger, known] = (
  await leastMs([refusals(plain, "ann"), refusals(reading, "bob"), refusals(reading, "ann")])
).map((ms) => (ms * 1_000) / REQUESTS) as [number, number, number];

const [policy] = policies;
const applied = [{ policy: policy!, kind: "key", partition, cost: 1 }];
const rounds = 100_000;
const [added] = (await leastMs([
  () => {
    for (let i = 0; i < rounds; i++) {
      reading.live!.ready(undefined);
      reading.live!.apply(applied);
    }
  },
]).then(([ms]) => [(ms! * 1_000) / rounds])) as [number];

console.log("| a refusal from memory | µs | ratio |\n|---|---|---|");
for (const [what, us] of [
  ["without a document", without],
  ["with 1,000 overrides, of a client without one", stranger],
  ["with 1,000 overrides, of a client with one", known],
] as const) {
  console.log(`| ${what} | ${us.toFixed(2)} | ${(us / without).toFixed(3)} |`);
}
const verdict = added <= TARGET_US ? "within" : "above";
console.log(
  `\nThe document's own part of a request: ${added.toFixed(3)} µs, ${verdict} the target of ${TARGET_US} µs.\n`,
);

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
  ["1,000 overrides", documentOf(1_000, partition)],
  ["2,000 overrides", documentOf(2_000, partition, KIB_256)],
  ["500 overrides with long notes", documentOf(500, partition, KIB_256)],
] as const) {
  const document = readLive(text)!;
  const later = await leastMs([() => readLive(text), () => viewOf(1, document, policies, "")]);
  const figures = [...later, ...(await firstMs(text))].map((ms) => ms.toFixed(2));
  console.log(`| ${what} | ${(text.length / 1_024).toFixed(0)} | ${figures.join(" | ")} |`);
}
