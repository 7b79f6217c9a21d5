// Bundles the Worker with wrangler, as `wrangler deploy` does, without uploading anything.

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { wranglerEnv } from "../../../scripts/dev/wrangler-env.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** @returns what wrangler printed. */
export async function bundle(outdir: string): Promise<string> {
  const all = ["node_modules/.bin/wrangler", "deploy", "--dry-run", "--outdir", outdir];
  const { stdout } = await promisify(execFile)(process.execPath, all, { cwd: root, env: wranglerEnv() });
  return stdout;
}
