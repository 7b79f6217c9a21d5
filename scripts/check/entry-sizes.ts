/** The size of each entry of the package in a user's bundle. */

import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

/**
 * What users import. Hono is not counted, because users bring it themselves. `reserve` and what settles it are in
 * every limiter. What reads requests and answers of language models for a `meter` is in every entry that stands in
 * front of a handler: 8 KiB. 6 before requests were searched instead of parsed (1.6), and before Gemini (0.4).
 */
const ENTRIES: readonly { readonly what: string; readonly program: string; readonly budgetKib: number }[] = [
  {
    what: "headgate, a limiter with the memory store",
    program: 'export { createLimiter, memoryStore } from "../src/index.ts";',
    // 16.8 before durations needed units, policies had exceptions and misuse was told apart (1.6 KiB), and before each
    // algorithm said all about itself (1.2), meters were checked with everything else, and a decision said its outcome
    // (1.7). 21.5 before `limiter.wait` (1.3), policies that count failures or refuse in their own words (1.5), and
    // verified claims and exempt addresses (0.7). 25.4 before periods of calendars (2), requests that are charged once
    // (0.9), and `sync` of a policy. 29 before chains of policies (2), here and below. 32 before looks told what is
    // reserved (0.5), here and below.
    // 32.1 before meters, calls, leases and shared limits were options: what is said if one is missing took 0.6 of 0.9.
    // 2.3 KiB of it are the hash (@noble/hashes). 33 before a refusal was known without the body (0.4), here and below.
    budgetKib: 31.9,
  },
  {
    what: "headgate, the same in front of a handler",
    program: 'export { createLimiter, memoryStore, withRateLimit } from "../src/index.ts";',
    // 38.6 before the above, and before `clientIp` and `headgate/express` (1). 48.1 before calls of JSON-RPC (2.1).
    // 53 before the warnings of `headgate check` (1.4), addresses that clients share (0.6), and requests that go on as
    // they were counted (0.6), slow and long bodies that have an end, and answers that are read whole or keep what was
    // reserved (3.1), here and below.
    budgetKib: 59.2,
  },
  {
    what: "headgate, with Redis",
    program: 'export { createLimiter, redisStore, withRateLimit } from "../src/index.ts";',
    // 73.1 before the isolate told its own exceptions from failures of the store, counted repayments on their way, and
    // looked for the live document elsewhere. 79.7 before its memory was one record for each key. 82.2 before the
    // above, and before Redis over TCP (0.8). 93 before `consistency = "shared"` (2.7), here and below. 111 before each
    // feature of the way in was a wrap of its own (0.9), here and below. 111 before the live document was
    // an option (3.8), here and below.
    budgetKib: 107.3,
  },
  {
    what: "headgate, with Redis and all features",
    program:
      'export { createLimiter, jwtIdentity, leases, live, meter, redisStore, rpc, shared, withRateLimit } from "../src/index.ts";',
    budgetKib: 121.2,
  },
  {
    what: "headgate, with a Durable Object",
    program: 'export { createLimiter, durableObjectStore, withRateLimit } from "../src/index.ts";',
    budgetKib: 82,
  },
  {
    what: "headgate/durable-object",
    program: 'export * from "../src/durable-object.ts";',
    // 24.8 before damaged rows counted as absent and misuse was answered as data. 29.2 before the fields of the live
    // document stood in a table, and the isolate's memory was one record for each key. 38.6 before give-backs waited
    // for a reply, and isolates of a slow store kept to their part.
    budgetKib: 36.2,
  },
  { what: "headgate/hono, alone", program: 'export * from "../src/hono.ts";', budgetKib: 37.7 },
  { what: "headgate/express, alone", program: 'export * from "../src/express.ts";', budgetKib: 28.9 },
  { what: "headgate/client", program: 'export * from "../src/client/index.ts";', budgetKib: 1.8 },
  { what: "headgate/llm", program: 'export * from "../src/features/meter/llm/index.ts";', budgetKib: 7.3 },
  { what: "headgate/worker", program: 'export * from "../src/worker.ts";', budgetKib: 155.9 },
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
