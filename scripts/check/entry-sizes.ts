/** The size of each entry of the package in a user's bundle. */

import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

/**
 * What users import. Hono is not counted, because users bring it themselves. `reserve` and what settles it are in
 * every limiter. What reads requests and answers of language models for a `meter` is in every entry that stands in
 * front of a handler: 6 KiB.
 */
const ENTRIES: readonly { readonly what: string; readonly program: string; readonly budgetKib: number }[] = [
  {
    what: "headgate, a limiter with the memory store",
    program: 'export { createLimiter, memoryStore } from "../src/index.ts";',
    // 15.2 before `reserve` and meters. `reserve` needs 1.3 KiB more and the checks of meters 0.6, and 0.4 was saved.
    // The instant and the plan that a decision tells its listeners need less than 0.1.
    budgetKib: 16.9,
  },
  {
    what: "headgate, the same in front of a handler",
    program: 'export { createLimiter, memoryStore, withRateLimit } from "../src/index.ts";',
    budgetKib: 33,
  },
  {
    what: "headgate, with Redis",
    program: 'export { createLimiter, redisStore, withRateLimit } from "../src/index.ts";',
    // 72.0 before leases kept what late replies charge, and log lines were made once.
    budgetKib: 73.1,
  },
  {
    what: "headgate, with a Durable Object",
    program: 'export { createLimiter, durableObjectStore, withRateLimit } from "../src/index.ts";',
    budgetKib: 50,
  },
  {
    what: "headgate/durable-object",
    program: 'export * from "../src/durable-object.ts";',
    // 24.0 before leases learned from the replies how much to hold: 0.4 KiB. What late replies charge is kept: 0.2.
    budgetKib: 24.8,
  },
  { what: "headgate/hono, alone", program: 'export * from "../src/hono.ts";', budgetKib: 21.1 },
  { what: "headgate/client", program: 'export * from "../src/client/index.ts";', budgetKib: 3 },
  { what: "headgate/llm", program: 'export * from "../src/llm/index.ts";', budgetKib: 4 },
  { what: "headgate/worker", program: 'export * from "../src/worker.ts";', budgetKib: 128 },
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
