/**
 * How much memory an isolate needs with very many clients: the largest heap after garbage collection, in MiB above the
 * start. It measures the worst case of each mode: every client has used up its limit (strict), or has a lease (leased).
 * Some other clients keep asking, and none of them may get more than its limit.
 *
 *   node --expose-gc bench/isolate-memory.ts [--quick]
 *
 * Ends with status 1 if the heap exceeds its bound or a client gets too much.
 */

import { ACTIVE_LIMIT, keysThrough } from "./isolate-keys.ts";
import { collected } from "./support/heap.ts";

const MIB = 1024 * 1024;
/** The bound for the heap. An isolate has 128 MiB (2026-11). */
const BOUND_MIB = 64;
/** Several times more clients than an isolate remembers, so that both forms of the run forget most of them. */
const keys = process.argv.includes("--quick") ? 30_000 : 1_000_000;

const heapMib = () => collected().heapUsed / MIB;

console.log(
  `| ${keys} clients | MiB | seconds | admitted to each client that goes on, limit ${ACTIVE_LIMIT} |\n|---|---|---|---|`,
);
for (const mode of ["strict", "leased"] as const) {
  const [startMib, startMs] = [heapMib(), performance.now()];
  let largestMib = 0;
  const admitted = await keysThrough(mode, keys, () => {
    largestMib = Math.max(largestMib, heapMib() - startMib);
  });
  const seconds = (performance.now() - startMs) / 1000;
  console.log(`| ${mode} | ${largestMib.toFixed(1)} | ${seconds.toFixed(1)} | ${[...new Set(admitted)].join(", ")} |`);
  if (largestMib > BOUND_MIB || admitted.some((count) => count > ACTIVE_LIMIT)) process.exitCode = 1;
}
