import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";
import { wranglerEnv } from "./scripts/dev/wrangler-env.ts";
import { findChromium } from "./scripts/machine/chromium.ts";

// Nothing is asked of Cloudflare: no telemetry, no sample of `request.cf`.
Object.assign(process.env, wranglerEnv());
// Tests start wrangler and scripts of ours many times: each after the first run finds them compiled.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL("node_modules/.cache/node", import.meta.url));

/** What takes minutes is in files `*.long.test.ts`. Only `npm run test:long` runs them, with all others. */
const LONG = process.env.TESTS === "all" ? [] : ["**/*.long.test.ts"];

/** Folders of test/ by what their tests need, see the projects below. A folder that no project names is in `unit`. */
const [REDIS, GATEWAY, WORKER] = [
  ["kernel/store", "lua", "redis", "scripts", "migrate"],
  ["gateway", "clients", "examples", "recipes"],
  ["worker"],
];
/** Tests in folders of the project redis that need no Redis. */
const WITHOUT_REDIS = [
  "test/redis/{replies,script}.test.ts",
  "test/migrate/options.test.ts",
  "test/scripts/{deployed-redis,start-store}.test.ts",
  "test/kernel/store/{log-chunks,memory}.test.ts",
];
/** Elsewhere than in the folders of the project redis: they start a Redis, and workerd. */
const LIVE = "test/verify/histories/live.long.test.ts";
/** They start a Chromium. Elsewhere `launchChromium` fails. */
const BROWSER = ["console/console", "cli/replay/browser", "site/site"]
  .concat(["browser", "console", "limits-page"].map((name) => `clients/${name}`))
  .map((name) => `test/${name}{,.long}.test.ts`);
/** They measure memory: of processes that they start, or of their own. */
const MEMORY = [
  "test/kernel/place/isolate-memory.long.test.ts",
  "test/kernel/limiter/flood.long.test.ts",
  "test/features/meter/memory.long.test.ts",
  "test/kernel/store/memory-bounds.long.test.ts",
];
/** They need nothing but Node, and too much time for `npm run test:unit`. */
const SLOW = [
  // They simulate many isolates or clients over minutes of virtual time.
  ...["simulate", "verify"].map((folder) => `test/${folder}/**/*.test.ts`),
  "test/client/burst.test.ts",
  "test/kernel/limiter/process-end.test.ts",
  "test/features/shared/shared.test.ts",
  "test/kernel/place/{subrequests,waiting}.test.ts",
  "test/site/playground.test.ts",
  "test/operate/stats/stats.test.ts",
  // They read or draw much.
  "test/client/fields.test.ts",
  "test/kernel/core/periods.test.ts",
  "test/docs/{blocks,glossary}.test.ts",
  "test/features/meter/combined.test.ts",
  "test/kernel/http/lines.test.ts",
  "test/features/identity/key-set.test.ts",
  "test/kernel/limiter/fuzz/counts.test.ts",
  "test/features/meter/input.test.ts",
  "test/testing/suite.long.test.ts",
  // They start programs: the command line, wrangler, the compiler, a linter.
  "test/types/*.test.ts",
  "test/cli/replay/{command,log/open}.test.ts",
  "test/architecture/{node-20,packed.long}.test.ts",
  "test/cli/{deploy,program}.test.ts",
  "test/release/workflows.test.ts",
];

/** What some projects start once, before their tests. Several projects of one run share it. */
const [REDIS_SERVER, BUNDLED_WORKER] = ["test/support/redis/redis-setup.ts", "test/support/gateway/gateway-build.ts"];

/** What each file gets. */
const setupFiles = ["test/support/clean-up.ts"];

const testsIn = (folder: string) => `test/${folder}/**/*.test.ts`;

export default defineConfig({
  test: {
    silent: "passed-only",
    // Node itself loads the tests and what they test: it strips types at once, and runs imports a third faster than
    // Vite's loader does. What replaces modules (vi.mock, vi.resetModules) has no effect: see support/fresh-import.ts.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // Many tests wait for clocks and sockets more than they compute.
    maxWorkers: Math.max(6, availableParallelism() - 1),
    projects: [
      {
        // Nothing but Node, after `npm ci` alone: no Redis, no workerd, no browser.
        test: {
          name: "unit",
          setupFiles,
          // Plain functions leave nothing behind: a process for each file costs 35 s of CPU and protects from nothing.
          isolate: false,
          // Properties take their time on a busy machine.
          testTimeout: 60_000,
          include: [
            `test/!(${["kernel", ...REDIS.slice(1), ...GATEWAY, ...WORKER].join("|")})/**/*.test.ts`,
            "test/kernel/*.test.ts",
            "test/kernel/!(store)/**/*.test.ts",
            ...WITHOUT_REDIS,
          ],
          exclude: [...BROWSER, ...MEMORY, ...SLOW, LIVE, ...LONG],
        },
      },
      {
        // Nothing but Node too.
        test: {
          name: "slow",
          setupFiles,
          isolate: false,
          testTimeout: 60_000,
          include: SLOW,
          exclude: [LIVE, ...LONG],
        },
      },
      {
        // Nothing but Node too. Each file has a process of its own: nobody else uses the heap that it measures.
        test: { name: "memory", setupFiles, include: MEMORY, exclude: LONG, testTimeout: 60_000 },
      },
      {
        // What needs the real Redis server, from Node.
        test: {
          name: "redis",
          setupFiles,
          isolate: false,
          include: [...REDIS.map(testsIn), LIVE],
          exclude: [...WITHOUT_REDIS, ...MEMORY, ...LONG],
          globalSetup: [REDIS_SERVER],
          testTimeout: 60_000,
        },
      },
      {
        // The bundled Worker from outside: several regions, real sockets, the same Redis.
        test: {
          name: "gateway",
          setupFiles,
          // Tests stop what they start. One process for many files loads and compiles what they share once.
          isolate: false,
          include: GATEWAY.map(testsIn),
          exclude: [...BROWSER, ...LONG],
          globalSetup: [REDIS_SERVER, BUNDLED_WORKER],
          testTimeout: 60_000,
        },
      },
      {
        // What a page can read and a person sees, in a Chromium. The console and the replay's report need no more.
        test: {
          name: "browser",
          setupFiles,
          isolate: false,
          include: BROWSER,
          exclude: LONG,
          globalSetup: [REDIS_SERVER, BUNDLED_WORKER],
          provide: { chromium: findChromium() ?? null },
          testTimeout: 60_000,
        },
      },
      {
        // What runs inside workerd.
        plugins: [
          cloudflareTest(({ inject }) => ({
            wrangler: { configPath: "./wrangler.toml" },
            // Without this line workerd reports every connection that a test refuses.
            verbose: false,
            miniflare: {
              bindings: {
                UPSTASH_REDIS_REST_URL: inject<string>("restUrl"),
                UPSTASH_REDIS_REST_TOKEN: inject<string>("restToken"),
                REDIS_TIMEOUT_MS: 10_000,
              },
            },
          })),
        ],
        // No file leaves anything behind: files share a workerd. Each of the two takes 4 s of CPU to start.
        test: {
          name: "worker",
          setupFiles,
          isolate: false,
          include: WORKER.map(testsIn),
          exclude: LONG,
          globalSetup: [REDIS_SERVER],
          experimental: { viteModuleRunner: true },
          maxWorkers: 2,
          testTimeout: 60_000,
          // Another number of workers is another group.
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
