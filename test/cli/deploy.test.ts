// `npm run deploy` and the npm scripts, as processes.

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { ROOT } from "../docs/markdown.ts";
import { folderWith, headgate } from "./run.ts";

const COUNTS = 'durable_objects.bindings = [{ name = "COUNTS", class_name = "HeadgateCounts" }]\n';

const POLICIES = '[[vars.POLICIES]]\nname = "a"\nlimits = [{ limit = 1, window = "1m" }]\n';

function node(cwd: string, args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  return spawnSync(process.execPath, args, { cwd, encoding: "utf8", env: { ...process.env, ...env } });
}

/** `npm run deploy` in a folder with this wrangler.toml. */
function deploy(toml: string, args: readonly string[] = [], env: NodeJS.ProcessEnv = {}) {
  const folder = folderWith({ "wrangler.toml": toml });
  return node(folder, [join(ROOT, "scripts/dev/deploy.ts"), "--dry-run", ...args], env);
}

it("npm run deploy stops at a mistake: wrangler is not asked", () => {
  expect(packageJson.scripts.deploy).toBe("node scripts/dev/deploy.ts");
  const toml = `${COUNTS}[vars]\nPOLICIES = []\n`;
  const { status, stdout, stderr } = deploy(toml);
  expect([status, stdout]).toEqual([1, ""]);
  expect(stderr).toMatch(/^1 mistake in the configuration:\n- POLICIES: /);
  const missing = deploy(toml, [], { CLOUDFLARE_ENV: "prod" });
  const says = "headgate: wrangler.toml has no environment prod (its environments: none)\n";
  expect([missing.status, missing.stderr]).toEqual([2, says]);
});

it("npm run deploy stops at a Worker that would count in memory, unless told so", () => {
  const says = expect.stringMatching(/^1 mistake .*\n- COUNTS: /);
  expect(deploy(POLICIES)).toMatchObject({ status: 1, stdout: "", stderr: says });
  // wrangler misses its entry point, and no option.
  const { stdout, stderr } = deploy(POLICIES, ["--memory"]);
  expect(stdout + stderr).toMatch(/Missing entry-point/i);
  expect(stdout + stderr).not.toContain("memory");
});

it("npm run headgate, config and docs:limits are the command line, from its source", async () => {
  const commands = (["headgate", "config", "docs:limits"] as const).map((name) => packageJson.scripts[name].split(" "));
  const start = ["node", "src/cli/main.ts"];
  for (const words of commands) {
    expect(words.slice(0, start.length)).toEqual(start);
    const { status, stdout } = await headgate(ROOT, [...words.slice(start.length), "--help"]);
    expect([status, stdout]).toEqual([0, expect.stringMatching(/^Usage: headgate/)]);
  }
  const { status, stdout } = node(ROOT, [...commands[1]!.slice(1), "--help"]);
  expect([status, stdout]).toEqual([0, expect.stringMatching(/^Usage: headgate/)]);
});
