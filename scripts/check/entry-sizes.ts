/** The size of each entry of the package in a user's bundle. */

import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { type BuildOptions, build } from "esbuild";

const appWith = (store: string) => `
  export { createLimiter, ${store} } from "../src/index.ts";
  export { rateLimit } from "../src/adapters/hono.ts";
  export { HeadgateCounts } from "../src/durable-object.ts";`;

/**
 * What users import. Hono is not counted, because users bring it themselves. Of `createLimiter` with a memory store,
 * 2.3 KiB are the hash (@noble/hashes); of Redis, 7 KiB are the script. A budget is lowered when its size falls, and
 * raised only with the reason in the commit.
 */
const ENTRIES: readonly { readonly what: string; readonly program: string; readonly budgetKib: number }[] = [
  {
    what: "headgate, a limiter with the memory store",
    program: 'export { createLimiter, memoryStore } from "../src/index.ts";',
    budgetKib: 36.4,
  },
  {
    what: "headgate, the same in front of a handler",
    program: 'export { createLimiter, memoryStore, withRateLimit } from "../src/index.ts";',
    budgetKib: 53.6,
  },
  {
    what: "headgate, with Redis",
    program: 'export { createLimiter, redisStore, withRateLimit } from "../src/index.ts";',
    budgetKib: 77.8,
  },
  {
    what: "headgate, with Redis and all features",
    program:
      'export { ban, body, createLimiter, jwtIdentity, leases, live, meter, overflow, redisStore, rpc, shared, statedCost, withRateLimit } from "../src/index.ts";',
    budgetKib: 127.7,
  },
  {
    what: "headgate, with a Durable Object",
    program: 'export { createLimiter, durableObjectStore, withRateLimit } from "../src/index.ts";',
    budgetKib: 68.8,
  },
  {
    what: "the README's Hono app, with every store",
    program: appWith("storeFromEnv"),
    budgetKib: 85.7,
  },
  {
    what: "the same, with `durableObjectStore` alone",
    program: appWith("durableObjectStore"),
    budgetKib: 72.5,
  },
  {
    what: "headgate/durable-object",
    program: 'export * from "../src/durable-object.ts";',
    budgetKib: 29.9,
  },
  { what: "headgate/hono, alone", program: 'export * from "../src/adapters/hono.ts";', budgetKib: 31.1 },
  { what: "headgate/express, alone", program: 'export * from "../src/adapters/express.ts";', budgetKib: 31.8 },
  { what: "headgate/client", program: 'export * from "../src/client/index.ts";', budgetKib: 1.9 },
  { what: "headgate/llm", program: 'export * from "../src/features/meter/llm/index.ts";', budgetKib: 11.9 },
  { what: "headgate/worker", program: 'export * from "../src/worker.ts";', budgetKib: 172.6 },
];

interface EntrySize {
  readonly what: string;
  /** The size in bytes, minified and gzipped. */
  readonly bytes: number;
  readonly budgetKib: number;
}

const bundled = async (options: BuildOptions): Promise<number> => {
  const { outputFiles } = await build({
    ...{ bundle: true, minify: true, format: "esm", target: "es2024" },
    ...options,
    write: false,
  });
  return gzipSync(outputFiles[0]!.contents).length;
};

export async function entrySizes(): Promise<EntrySize[]> {
  const resolveDir = fileURLToPath(new URL("..", import.meta.url));
  return await Promise.all(
    ENTRIES.map(async ({ what, program, budgetKib }) => {
      const external = ["hono", "hono/*", "cloudflare:*"];
      return { what, bytes: await bundled({ stdin: { contents: program, resolveDir }, external }), budgetKib };
    }),
  );
}

/** What the gateway adds to a minimal Worker, in bytes, bundled as `npm run bench -- size` bundles it. */
export async function addedByGateway(): Promise<number> {
  const conditions = ["workerd", "worker", "browser"];
  const [gateway = 0, none = 0] = await Promise.all(
    ["headgate", "none"].map((name) => {
      const entry = fileURLToPath(new URL(`../../bench/workers/${name}.mjs`, import.meta.url));
      return bundled({ entryPoints: [entry], conditions, external: ["node:*", "cloudflare:*"] });
    }),
  );
  return gateway - none;
}
