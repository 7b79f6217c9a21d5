/** `wrangler dev` of a folder that has its own wrangler. */

import { join } from "node:path";
import { wranglerEnv } from "../dev/wrangler-env.ts";
import { freePort } from "../machine/redis-server.ts";
import { spawnTied, stopProcess } from "../machine/tied-process.ts";

const START_TIMEOUT_MS = 60_000;

interface WranglerDev {
  readonly url: string;
  /** What it has printed so far. */
  output(): string;
  stop(): Promise<void>;
}

/** Resolves when it is ready. @param args beside those for its ports. */
export async function startWranglerDev(folder: string, args: readonly string[] = []): Promise<WranglerDev> {
  const port = await freePort();
  const ports = ["--port", String(port), "--inspector-port", String(await freePort())];
  const child = spawnTied(join(folder, "node_modules/.bin/wrangler"), ["dev", ...ports, ...args], {
    cwd: folder,
    env: wranglerEnv(),
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk: Buffer) => (output += chunk));
  for (const deadlineAt = Date.now() + START_TIMEOUT_MS; !output.includes("Ready on"); ) {
    if (child.exitCode !== null || Date.now() > deadlineAt) {
      await stopProcess(child);
      throw new Error(`wrangler dev did not start in ${folder}:\n${output}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return { url: `http://127.0.0.1:${port}`, output: () => output, stop: () => stopProcess(child) };
}
