import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
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

it("a free port lies below all ports that the system gives to whoever asks for any, and is given once", async () => {
  const ports = await Promise.all(Array.from({ length: 50 }, freePort));
  for (const port of ports) expect(port).toSatisfy((one: number) => one >= 10_000 && one < 32_000);
  expect(new Set(ports).size).toBe(ports.length);
});

describe("startRedisServer", () => {
  it("starts an in-memory server on loopback and removes all of it", async () => {
    const server = await startRedisServer();
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

  it("passes options on and takes a given port", async () => {
    const first = await startRedisServer({ args: ["--maxmemory", "10mb"] });
    expect(await configOf(first.url, "maxmemory")).toBe(String(10 * 1024 * 1024));
    await first.kill();
    expect(isAlive(first.pid)).toBe(false);
    const second = await startRedisServer({ port: first.port });
    expect(second.port).toBe(first.port);
    await Promise.all([first.stop(), second.stop()]);
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
