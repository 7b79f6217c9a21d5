// Runs once before the tests of test/gateway: bundles the Worker as `wrangler deploy` would upload it.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { bundle } from "./bundle.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** The folder with the bundled Worker, `worker.js`. */
    workerDirectory: string;
    /** What wrangler said of it. */
    wranglerOutput: string;
  }
}

/** Each of the projects that need it loads this file for itself: the first builds for all. */
const BUILT = "headgate:bundled-worker";
const shared = globalThis as { [BUILT]?: Promise<{ directory: string; output: string }> };

async function build() {
  const directory = mkdtempSync(join(tmpdir(), "headgate-worker-"));
  return { directory, output: await bundle(directory) };
}

export default async function setup(project: TestProject): Promise<(() => void) | undefined> {
  const isFirst = shared[BUILT] === undefined;
  shared[BUILT] ??= build();
  const { directory, output } = await shared[BUILT];
  project.provide("workerDirectory", directory);
  project.provide("wranglerOutput", output);
  return isFirst ? () => rmSync(directory, { recursive: true }) : undefined;
}
