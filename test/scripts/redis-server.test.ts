import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { describe, expect, it } from "vitest";
import { freePort, redisVersion, startRedisServer } from "../../scripts/machine/redis-server.ts";
import { isAlive } from "../support/gateway/processes.ts";

async function configOf(url: string, name: string): Promise<string> {
  const redis = new Redis(url);
  const [, value] = (await redis.config("GET", name)) as [string, string];
  await redis.quit();
  return value;
}

describe("startRedisServer", () => {
  it("starts an in-memory server on loopback, with options, and removes all of it", async () => {
    const server = await startRedisServer({ args: ["--maxmemory", "10mb"] });
    expect(await configOf(server.url, "maxmemory")).toBe(String(10 * 1024 * 1024));
    const directory = await configOf(server.url, "dir");
    expect(server.version).toMatch(/^(Redis|Valkey) \d+\.\d+\.\d+/);
    expect(await redisVersion(server.url, 5_000)).toBe(server.version);
    expect(await configOf(server.url, "bind")).toBe("127.0.0.1");
    expect(await configOf(server.url, "save")).toBe("");
    expect(isAlive(server.pid)).toBe(true);
    expect(existsSync(directory)).toBe(true);
    await server.stop();
    await server.stop();
    expect(isAlive(server.pid)).toBe(false);
    expect(existsSync(directory)).toBe(false);
  });

  it("says what is wrong instead of taking somebody else's server for its own", async () => {
    const server = await startRedisServer();
    await expect(startRedisServer({ port: server.port })).rejects.toThrow(/in use/);
    await expect(startRedisServer({ args: ["--no-such-option", "1"] })).rejects.toThrow(/no-such-option/i);
    await server.stop();
    await expect(redisVersion(server.url, 2_000)).rejects.toThrow("ECONNREFUSED");
  });

  // Linux only, because the kernel does it there: see spawnTied.
  it.runIf(process.platform === "linux")("dies with a parent that gets SIGKILL", async () => {
    const file = new URL("../../scripts/machine/redis-server.ts", import.meta.url).href;
    const script = `import(${JSON.stringify(file)}).then(async (m) => console.log((await m.startRedisServer()).pid))`;
    // Nobody is left to remove the server's directory, so it is put into the test's directory.
    const directory = mkdtempSync(join(tmpdir(), "headgate-test-"));
    const env = { ...process.env, TMPDIR: directory };
    const parent = spawn(process.execPath, ["--eval", script], { env, stdio: ["ignore", "pipe", "inherit"] });
    const [line] = await once(parent.stdout, "data");
    const pid = Number(line);
    expect(isAlive(pid)).toBe(true);
    parent.kill("SIGKILL");
    await expect.poll(() => isAlive(pid), { timeout: 10_000 }).toBe(false);
    rmSync(directory, { recursive: true });
  });
});

// Linux only, because its /proc shows the states of connections.
it.runIf(process.platform === "linux")("a free port is given to nobody else until somebody names it", async () => {
  const port = await freePort();
  const TIME_WAIT = "06";
  const [address, number] = ["0100007F", port.toString(16).toUpperCase().padStart(4, "0")];
  expect(readFileSync("/proc/net/tcp", "utf8")).toMatch(new RegExp(` ${address}:${number} \\S+ ${TIME_WAIT} `));
  await expect(redisVersion(`redis://127.0.0.1:${port}`, 2_000)).rejects.toThrow("ECONNREFUSED");
  const server = await startRedisServer({ port });
  await server.stop();
});
