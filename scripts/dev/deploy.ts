/**
 * `npm run deploy`: `wrangler deploy`, if `headgate check` finds no mistake. Arguments after `--` go to wrangler, but
 * `--memory` goes to `headgate check`.
 */

import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { check } from "../../src/cli/check/command.ts";
import { Misuse } from "../../src/cli/io.ts";
import { cleaned, line } from "../../src/cli/printable.ts";
import { wranglerOptions } from "./wrangler-options.ts";

const given = process.argv.slice(2);
const args = given.filter((one) => one !== "--memory");
const memory = args.length < given.length;
const { configPath, environmentName = "", envFiles, vars } = wranglerOptions(args, process.env);
const options = { deployed: true, quiet: true, memory, var: vars, env: environmentName, envFile: envFiles };
const io = cleaned({
  cwd: process.cwd(),
  env: process.env,
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
});

try {
  process.exitCode = check(configPath, options, io);
} catch (error) {
  if (!(error instanceof Misuse)) throw error;
  io.err(line(`headgate: ${error.message}`));
  process.exitCode = 2;
}
if (process.exitCode === 0) {
  const wrangler = createRequire(import.meta.url).resolve("wrangler");
  process.exitCode = spawnSync(process.execPath, [wrangler, "deploy", ...args], { stdio: "inherit" }).status ?? 1;
}
