/**
 * What an isolate keeps of one remembered client, in bytes of heap after collection: the slope between two numbers of
 * clients that are both remembered as a whole. Prints JSON by mode.
 *
 *   node --expose-gc bench/isolate-bytes.ts
 */

import { keysThrough } from "./isolate-keys.ts";

/** Fewer than are remembered at once. */
const [FEW, MANY] = [1_000, 9_000];

const { gc } = globalThis;
if (!gc) throw new Error("isolate-bytes: expected node --expose-gc, found no gc()");

async function heapAfter(mode: "strict" | "leased", keys: number): Promise<number> {
  const used = () => {
    gc!();
    return process.memoryUsage().heapUsed;
  };
  const before = used();
  let after = before;
  await keysThrough(mode, keys, () => {
    after = used();
  });
  return after - before;
}

const bytes: Record<string, number> = {};
for (const mode of ["strict", "leased"] as const) {
  await heapAfter(mode, FEW); // code and its caches
  const [few, many] = [await heapAfter(mode, FEW), await heapAfter(mode, MANY)];
  bytes[mode] = Math.round((many - few) / (MANY - FEW));
}
console.log(JSON.stringify(bytes));
