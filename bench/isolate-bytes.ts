/**
 * How many bytes of heap an isolate keeps for one remembered client, after garbage collection. Computed from the
 * difference between two numbers of clients that are all remembered. Prints JSON by mode.
 *
 *   node --expose-gc bench/isolate-bytes.ts
 */

import { keysThrough } from "./isolate-keys.ts";
import { collected } from "./support/heap.ts";

/** Both numbers are below the number of clients that an isolate remembers. */
const [FEW, MANY] = [1_000, 9_000];

async function heapAfter(mode: "strict" | "leased", keys: number): Promise<number> {
  const before = collected().heapUsed;
  let after = before;
  await keysThrough(mode, keys, () => {
    after = collected().heapUsed;
  });
  return after - before;
}

const bytes: Record<string, number> = {};
for (const mode of ["strict", "leased"] as const) {
  await heapAfter(mode, FEW); // compiled code and caches
  const [few, many] = [await heapAfter(mode, FEW), await heapAfter(mode, MANY)];
  bytes[mode] = Math.round((many - few) / (MANY - FEW));
}
console.log(JSON.stringify(bytes));
