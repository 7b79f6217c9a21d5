/** `headgate init` as somebody would use it who has the tarball and no clone: npx, npm install, wrangler dev. */

import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { startWranglerDev } from "./wrangler-dev.ts";

/**
 * Of 61 requests, 60 must be admitted.
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
  const wrangler = await startWranglerDev(demo);
  try {
    const statuses = await askWithinAMinute(61, (address) => {
      return fetch(wrangler.url, { headers: { "CF-Connecting-IP": address } });
    });
    console.log(`init: ${statuses.join(" ")}`);
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
