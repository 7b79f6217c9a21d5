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
  }
}

export default async function setup(project: TestProject): Promise<() => void> {
  const directory = mkdtempSync(join(tmpdir(), "headgate-worker-"));
  await bundle(directory);
  project.provide("workerDirectory", directory);
  return () => rmSync(directory, { recursive: true });
}
