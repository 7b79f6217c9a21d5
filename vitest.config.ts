import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";
import { wranglerEnv } from "./scripts/dev/wrangler-env.ts";

// Nothing is asked of Cloudflare: no telemetry, no sample of `request.cf`.
Object.assign(process.env, wranglerEnv());
// Tests start wrangler and scripts of ours many times: each after the first run finds them compiled.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL("node_modules/.cache/node", import.meta.url));

/** Folders of test/ by what their tests need, see the projects below. */
const [REDIS, GATEWAY, WORKER] = [
  ["lua", "redis", "store", "scripts", "migrate"],
  ["gateway", "clients", "examples"],
  ["worker"],
];
const ALONE = ["test/gateway/leased.test.ts", "test/gateway/object-leased.test.ts", "test/gateway/starved.test.ts"];

const testsIn = (folder: string) => `test/${folder}/**/*.test.ts`;

export default defineConfig({
  test: {
    globalSetup: ["test/support/global-setup.ts"],
    silent: "passed-only",
    // Many tests wait for clocks and sockets more than they compute.
    maxWorkers: Math.max(4, availableParallelism() - 1),
    projects: [
      {
        // Nothing but Node: plain functions, and the console over a gateway in memory, in a browser.
        test: {
          name: "unit",
          // Plain functions leave nothing behind: a process for each file costs 35 s of CPU and protects from nothing.
          isolate: false,
          // Properties take their time on a busy machine.
          testTimeout: 60_000,
          // All that no other project names: a folder that gets another name stays tested.
          include: ["test/**/*.test.ts"],
          exclude: [`test/{${[...REDIS, ...GATEWAY, ...WORKER]}}/**`],
        },
      },
      {
        // What needs the real Redis server, from Node.
        extends: true,
        test: { name: "redis", isolate: false, include: REDIS.map(testsIn), testTimeout: 60_000 },
      },
      {
        // The bundled Worker from outside: several regions, real sockets, the same Redis.
        test: {
          name: "gateway",
          // Tests stop what they start. One process for many files loads and compiles what they share once.
          isolate: false,
          include: GATEWAY.map(testsIn),
          exclude: ALONE,
          globalSetup: ["test/support/gateway/gateway-build.ts"],
          testTimeout: 60_000,
        },
      },
      {
        // What compares waits in real time: after all others, so that they do not take its processors away.
        test: {
          name: "alone",
          isolate: false,
          include: ALONE,
          fileParallelism: false,
          globalSetup: ["test/support/gateway/gateway-build.ts"],
          testTimeout: 60_000,
          sequence: { groupOrder: 2 },
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
          isolate: false,
          include: WORKER.map(testsIn),
          maxWorkers: 2,
          testTimeout: 60_000,
          // Another number of workers is another group.
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
