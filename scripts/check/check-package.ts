/** Builds and packs the package, and runs publint and "are the types wrong" on the tarball. */

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build, pack } from "../build/build.ts";

const directory = mkdtempSync(join(tmpdir(), "headgate-package-"));
try {
  build();
  const tarball = pack(directory);
  const checks: readonly (readonly [command: string, ...args: string[]])[] = [
    ["publint", "run", tarball, "--strict"],
    // The package is ESM only. The profile leaves out that CommonJS cannot require it.
    ["attw", tarball, "--profile", "esm-only"],
  ];
  for (const [command, ...args] of checks) {
    const { status } = spawnSync(command, args, { stdio: "inherit" });
    if (status !== 0) process.exitCode = 1;
  }
} finally {
  rmSync(directory, { recursive: true });
}
