/** `headgate init` as somebody would use it who has the tarball and no clone: npx, npm install, wrangler dev. */

import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startWranglerDev } from "./wrangler-dev.ts";

/**
 * Of 61 requests, 60 must be admitted: by a gateway, by an app with headgate as its middleware, and by an app whose
 * counts are in another Worker.
 *
 * @param directory an existing folder. @throws if a command fails or the statuses are others.
 */
export async function testInit(tarball: string, directory: string): Promise<void> {
  const empty = join(directory, "empty");
  mkdirSync(empty);
  run(empty, "npx", "--yes", "--package", tarball, "headgate", "init", "demo");
  const demo = join(empty, "demo");
  run(demo, "npm", "install", "--no-audit", "--no-fund");
  run(demo, "npm", "run", "check");
  await admits60("init", demo);
  for (const args of [
    ["worker", "--behind", "worker", "--key", "api-key"],
    ["counts", "--counts"],
    ["app", "-y"],
  ]) {
    run(demo, "npx", "headgate", "init", ...args);
  }
  // Of an app whose framework builds its Worker: it exports no class.
  const bound = readFileSync(join(demo, "counts/README.md"), "utf8").split("```toml\n")[1]!.split("```")[0];
  const wranglerToml = `name = "app"\nmain = "index.ts"\ncompatibility_date = "2026-01-01"\n${bound}`;
  const worker = readFileSync(join(demo, "worker/src/index.ts"), "utf8");
  writeFileSync(join(demo, "app/index.ts"), worker.replace(/^export \{.*\n/m, ""));
  writeFileSync(join(demo, "app/wrangler.toml"), wranglerToml);
  await admits60("init --behind worker", demo, "-c", "worker/wrangler.toml");
  await admits60("init --counts", demo, "-c", "app/wrangler.toml", "-c", "counts/wrangler.toml");
}

async function admits60(title: string, folder: string, ...args: string[]): Promise<void> {
  const wrangler = await startWranglerDev(folder, args);
  try {
    const statuses = await askWithinAMinute(61, (address) => {
      return fetch(wrangler.url, { headers: { "CF-Connecting-IP": address } });
    });
    console.log(`${title}: ${statuses.join(" ")}`);
    const expected = [...Array<number>(60).fill(200), 429];
    if (statuses.join(" ") !== expected.join(" ")) throw new Error(wrangler.output());
  } finally {
    await wrangler.stop();
  }
}

/**
 * The statuses of this many requests of one address, all within one minute of the clock: in the next minute some units
 * of the window are back.
 */
export async function askWithinAMinute(
  count: number,
  ask: (address: string) => Promise<Response>,
): Promise<readonly number[]> {
  const minute = () => Math.floor(Date.now() / 60_000);
  for (let attempt = 1; ; attempt++) {
    const [begun, statuses] = [minute(), [] as number[]];
    for (let i = 0; i < count; i++) {
      const response = await ask(`203.0.113.${attempt}`);
      await response.arrayBuffer();
      statuses.push(response.status);
    }
    if (minute() === begun) return statuses;
    if (attempt === 3) throw new Error(`${count} requests took longer than a minute, three times`);
  }
}

/** @throws if the command fails. */
export function run(cwd: string, command: string, ...args: string[]): void {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: "utf8" });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} in ${cwd}:\n${stdout}${stderr}`);
}
