/** Memory after garbage collection, in a process of `node --expose-gc`. */

export function collected(): NodeJS.MemoryUsage {
  const { gc } = globalThis;
  if (!gc) throw new Error("expected node --expose-gc, found no gc()");
  gc();
  return process.memoryUsage();
}
