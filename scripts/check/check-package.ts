/** Builds and packs the package, runs publint and "are the types wrong" on the tarball, and publishes it for show. */

import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build, pack } from "../build/build.ts";

const { exports } = JSON.parse(readFileSync("package.json", "utf8")) as { readonly exports: Record<string, object> };
const entries = Object.keys(exports);
const directory = mkdtempSync(join(tmpdir(), "headgate-package-"));
try {
  build();
  const tarball = pack(directory);
  const checks: readonly (readonly [command: string, ...args: string[]])[] = [
    ["publint", "run", tarball, "--strict"],
    ["attw", tarball, "--entrypoints", ...entries.filter((entry) => "require" in exports[entry]!)],
    // Only ES modules: the profile leaves out that CommonJS cannot require them.
    ["attw", tarball, "--profile", "esm-only", "--entrypoints", ...entries],
  ];
  for (const [command, ...args] of checks) {
    const { status } = spawnSync(command, args, { stdio: "inherit" });
    if (status !== 0) process.exitCode = 1;
  }
  // npm corrects what is wrong in package.json, and only warns: of a folder, not of a tarball. Nothing is sent.
  const publish = ["publish", "--dry-run", "--ignore-scripts", "--offline", "--tag", "next"];
  const { status, stderr } = spawnSync("npm", publish, { encoding: "utf8" });
  const warnings = stderr.split("\n").filter((line) => /^npm (?:warn|error) /.test(line) && !/ logged in /.test(line));
  console.log(["npm publish --dry-run", ...warnings].join("\n"));
  if (status !== 0 || warnings.length > 0) process.exitCode = 1;
} finally {
  rmSync(directory, { recursive: true });
}
