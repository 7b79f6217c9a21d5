/** Builds and packs the package, and lets publint and "are the types wrong" look at the tarball. */

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
    // The package is ESM only: a CommonJS program cannot require it, which is what that profile leaves out.
    ["attw", tarball, "--profile", "esm-only"],
  ];
  for (const [command, ...args] of checks) {
    const { status } = spawnSync(command, args, { stdio: "inherit" });
    if (status !== 0) process.exitCode = 1;
  }
} finally {
  rmSync(directory, { recursive: true });
}
