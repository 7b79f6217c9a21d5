/**
 * What an isolate keeps of very many clients: the largest heap after collection, in MiB above that at the start. The
 * worst of each mode: every client used up (strict), every client with a lease (leased). Beside them some clients go on
 * asking, and none may get more than its limit.
 *
 *   node --expose-gc bench/isolate-memory.ts [--quick]
 *
 * Ends with 1 if one of the two does not hold.
 */

import { ACTIVE_LIMIT, keysThrough } from "./isolate-keys.ts";

const MIB = 1024 * 1024;
/** Of the 128 MiB that an isolate has (2026-11). */
const BOUND_MIB = 64;
/** Several times what is remembered at once, so that both forms have forgotten much. */
const keys = process.argv.includes("--quick") ? 60_000 : 1_000_000;

const { gc } = globalThis;
if (!gc) throw new Error("isolate-memory: expected node --expose-gc, found no gc()");

function heapMib(): number {
  gc!();
  return process.memoryUsage().heapUsed / MIB;
}

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
