/** The size of each entry of the package in a user's bundle. */

import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

/**
 * What users import. Hono is not counted, because users bring it themselves. Of `createLimiter` with a memory store,
 * 2.3 KiB are the hash (@noble/hashes); of Redis, 7 KiB are the script. A budget is lowered when its size falls, and
 * raised only with the reason in the commit.
 */
const ENTRIES: readonly { readonly what: string; readonly program: string; readonly budgetKib: number }[] = [
  {
    what: "headgate, a limiter with the memory store",
    program: 'export { createLimiter, memoryStore } from "../src/index.ts";',
    budgetKib: 32.5,
  },
  {
    what: "headgate, the same in front of a handler",
    program: 'export { createLimiter, memoryStore, withRateLimit } from "../src/index.ts";',
    budgetKib: 48.9,
  },
  {
    what: "headgate, with Redis",
    program: 'export { createLimiter, redisStore, withRateLimit } from "../src/index.ts";',
    budgetKib: 71.4,
  },
  {
    what: "headgate, with Redis and all features",
    program:
      'export { createLimiter, jwtIdentity, leases, live, meter, redisStore, rpc, shared, withRateLimit } from "../src/index.ts";',
    budgetKib: 106.2,
  },
  {
    what: "headgate, with a Durable Object",
    program: 'export { createLimiter, durableObjectStore, withRateLimit } from "../src/index.ts";',
    budgetKib: 63.3,
  },
  {
    what: "headgate/durable-object",
    program: 'export * from "../src/durable-object.ts";',
    budgetKib: 27.7,
  },
  { what: "headgate/hono, alone", program: 'export * from "../src/adapters/hono.ts";', budgetKib: 26.6 },
  { what: "headgate/express, alone", program: 'export * from "../src/adapters/express.ts";', budgetKib: 27.1 },
  { what: "headgate/client", program: 'export * from "../src/client/index.ts";', budgetKib: 1.9 },
  { what: "headgate/llm", program: 'export * from "../src/features/meter/llm/index.ts";', budgetKib: 7.9 },
  { what: "headgate/worker", program: 'export * from "../src/worker.ts";', budgetKib: 140.3 },
];

interface EntrySize {
  readonly what: string;
  /** The size in bytes, minified and gzipped. */
  readonly bytes: number;
  readonly budgetKib: number;
}

export async function entrySizes(): Promise<EntrySize[]> {
  return await Promise.all(
    ENTRIES.map(async ({ what, program, budgetKib }) => {
      const { outputFiles } = await build({
        stdin: { contents: program, resolveDir: fileURLToPath(new URL("..", import.meta.url)) },
        bundle: true,
        minify: true,
        format: "esm",
        target: "es2024",
        external: ["hono", "hono/*", "cloudflare:*"],
        write: false,
      });
      return { what, bytes: gzipSync(outputFiles[0]!.contents).length, budgetKib };
    }),
  );
}
