/** The package in real Bun and real Deno, which npm installs: `npm test` only calls handlers as they do. */

import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { BUN, DENO } from "./test-elsewhere.ts";
import { run } from "./test-init.ts";

const PROGRAM = fileURLToPath(new URL("../../test/support/runtimes/adapters.mjs", import.meta.url));
const COMMANDS = { bun: ["adapters.mjs"], deno: ["run", "--allow-net", "--allow-env", "--allow-read", "adapters.mjs"] };
const EXPECTED = ["rateLimit", "withRateLimit"].map((way) => `${way} redis 200 200 200 429 429 429`);

/**
 * Of six requests under a limit of three, three must be admitted, counted by the Redis of the process's variables.
 *
 * @param directory an existing folder. @throws if a command fails or the statuses are others.
 */
export function testRuntimes(tarball: string, directory: string, redis: { readonly url: string; token: string }): void {
  const folder = join(directory, "runtimes");
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module", private: true }));
  cpSync(PROGRAM, join(folder, "adapters.mjs"));
  run(folder, "npm", "install", "--no-audit", "--no-fund", tarball, "hono", BUN, DENO);
  const { PATH, HOME } = process.env;
  const env = { PATH, HOME, UPSTASH_REDIS_REST_URL: redis.url, UPSTASH_REDIS_REST_TOKEN: redis.token };
  for (const [name, args] of Object.entries(COMMANDS)) {
    const command = join(folder, "node_modules/.bin", name);
    const { stdout, stderr } = spawnSync(command, args, { cwd: folder, encoding: "utf8", env });
    const lines = stdout.split("\n").filter(Boolean);
    const found = lines.map((line) => {
      const { way, made, statuses } = JSON.parse(line) as { way: string; made: string[]; statuses: number[] };
      return `${way} ${[...made, ...statuses].join(" ")}`;
    });
    console.log(`${name}: ${found.join("; ")}`);
    if (found.join() !== EXPECTED.join()) throw new Error(`${name}:\n${stdout}${stderr}`);
  }
}
