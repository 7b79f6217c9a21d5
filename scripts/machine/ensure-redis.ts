// `pretest`: makes sure that the tests will find a real Redis server, or says in one sentence how to get one.

import { readdirSync, readFileSync } from "node:fs";
import { canInstallDebianPackages, installDebianPackage } from "./debian-package.ts";
import { findRedisServer, redisVersion } from "./redis-server.ts";

const HOW_TO_INSTALL =
  "the tests need a Redis server: install one with `apt-get install redis-server` (Debian, Ubuntu, as root) or " +
  "`brew install redis` (macOS), or set REDIS_URL.";

function fail(sentence: string): never {
  console.error(`headgate: ${sentence}`);
  process.exit(1);
}

/** The ids of all redis-server processes on this Linux machine. */
function redisServerPids(): number[] {
  const isRedis = (pid: string) => {
    try {
      return readFileSync(`/proc/${pid}/comm`, "utf8").trim() === "redis-server";
    } catch {
      return false; // the process ended after the directory was read
    }
  };
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && isRedis(name))
    .map(Number);
}

/** Installs Debian's redis-server, and stops every Redis that the installation started. */
function installFromDebian(): void {
  console.log("headgate: no Redis server on PATH: installing Debian's redis-server with apt-get for the tests");
  const before = new Set(redisServerPids());
  const failure = installDebianPackage("redis-server");
  for (const pid of redisServerPids()) {
    if (!before.has(pid)) process.kill(pid, "SIGTERM"); // the installation started it despite the policy
  }
  if (failure !== undefined) fail(`${failure}; ${HOW_TO_INSTALL}`);
  if (findRedisServer() === undefined) fail(`apt-get installed redis-server, but it is not on PATH; ${HOW_TO_INSTALL}`);
}

if (process.env.REDIS_URL) {
  await redisVersion(process.env.REDIS_URL, 5_000).catch((error: Error) =>
    fail(`expected a Redis server at REDIS_URL, found none that answers (${error.message}).`),
  );
} else if (findRedisServer() === undefined) {
  if (canInstallDebianPackages()) installFromDebian();
  else fail(HOW_TO_INSTALL);
}
