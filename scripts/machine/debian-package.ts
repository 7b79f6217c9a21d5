// Installs Debian packages that tests need, for containers and CI. It does so only where no permission is needed.

import { spawnSync } from "node:child_process";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { findOnPath } from "./tied-process.ts";

/** Debian's maintainer scripts ask this program whether they may start a service. Exit code 101 means no. */
const POLICY_FILE = "/usr/sbin/policy-rc.d";

/** Whether this system is Debian or derived from it, and this process runs as root. */
export function canInstallDebianPackages(): boolean {
  const isDebian = existsSync("/etc/debian_version") && findOnPath("apt-get") !== undefined;
  return isDebian && process.getuid?.() === 0;
}

/**
 * Installs a package without recommended packages, and does not start its services. @returns why it failed, if it
 * failed.
 */
export function installDebianPackage(name: string): string | undefined {
  const isPolicyOurs = !existsSync(POLICY_FILE);
  if (isPolicyOurs) writeFileSync(POLICY_FILE, "#!/bin/sh\nexit 101\n", { mode: 0o755 });
  try {
    apt("update", "-q"); // if this fails, older package lists may do
    const failure = apt("install", "-q", "-y", "--no-install-recommends", name);
    return failure && `apt-get could not install ${name} (${failure})`;
  } finally {
    if (isPolicyOurs) rmSync(POLICY_FILE, { force: true });
  }
}

/**
 * Installs the first of these packages that can be installed, unless `find` finds the program. Where that needs
 * permission, it says how to get the program, and that these tests will be skipped.
 */
export function ensureForTests(find: () => unknown, howToGet: string, tests: string, ...names: string[]): void {
  if (find()) return;
  let missing = howToGet;
  if (canInstallDebianPackages()) {
    console.log(`headgate: installing Debian's ${names[0]} with apt-get for ${tests}`);
    let failure: string | undefined = howToGet;
    for (const name of names) failure &&= installDebianPackage(name);
    if (find()) return;
    missing = failure ?? howToGet;
  }
  const consequence = process.env.CI === "true" ? "fail, since CI=true" : "be skipped";
  console.log(`headgate: ${missing}; ${tests} will ${consequence}`);
}

/** Why apt-get failed: its own last lines. undefined if it succeeded. */
function apt(...args: string[]): string | undefined {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const run = spawnSync("apt-get", args, { env, encoding: "utf8" });
  if (run.status === 0) return undefined;
  return `${run.stdout ?? ""}${run.stderr ?? run.error?.message ?? ""}`.trim().split("\n").slice(-3).join(" | ");
}
