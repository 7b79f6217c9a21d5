// The blocks of docs/cli.md.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { shown } from "../../src/cli/doctor/command.ts";
import { findingsOf } from "../../src/cli/doctor/findings.ts";
import { boundTo } from "../../src/cli/init/template.ts";
import { run } from "../../src/cli/program.ts";
import { TAKE } from "../../src/kernel/store/redis/script.generated.ts";
import { VERSION } from "../../src/kernel/version.ts";
import { startFakeGateway, TOKEN } from "../console/fake-gateway.ts";
import { blocksOf, commandsOf, read } from "../docs/markdown.ts";
import { folderWith, headgate } from "./run.ts";

const PAGE = "docs/cli.md";

it("shows what the check says of its example", async () => {
  const [toml, text] = blocksOf(PAGE).slice(2);
  const counts = 'durable_objects.bindings = [{ name = "COUNTS", class_name = "HeadgateCounts" }]\n';
  const { status, stderr } = await headgate(folderWith({ "wrangler.toml": counts + toml!.text }), ["check"]);
  expect([status, stderr]).toEqual([1, text!.text]);
});

it("begins with what `npm run test:examples` does with the packed tarball", () => {
  const commands = commandsOf(blocksOf(PAGE)[0]!);
  expect(commands).toEqual(["npx --yes headgate init demo", "cd demo && npm install && npx wrangler dev"]);
  expect(read("scripts/check/test-init.ts")).toContain('"--package", tarball, "headgate", "init"');
});

it("shows how an app binds what `headgate init --counts` writes", () => {
  expect(blocksOf(PAGE)[1]!.text).toBe(boundTo("my-app-counts").toml);
});

it("shows commands over files that work", async () => {
  const line = '203.0.113.7 - - [21/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 12 "-" "curl/8"\n';
  const policy = '[[vars.POLICIES]]\nname = "api"\nlimits = [{ limit = 45, window = "1m" }]\n';
  const folder = folderWith({ "wrangler.toml": policy, "access.log": line });
  const [limits, replay] = [4, 8].map((index) => commandsOf(blocksOf(PAGE)[index]!)[0]!.split(" ").slice(2));
  expect(await headgate(folder, limits!)).toMatchObject({ status: 0, stderr: "" });
  expect(existsSync(join(folder, "public", "limits.html"))).toBe(true);
  expect(await headgate(folder, replay!)).toMatchObject({ status: 0, stderr: "" });
});

it("shows a table of prices, and where they are written", async () => {
  const [csv, toml, command] = blocksOf(PAGE).slice(5, 8);
  const policy =
    '[[vars.POLICIES]]\nname = "api"\nlimits = [{ algorithm = "fixed-window", limit = 1, window = "1d" }]\n';
  const folder = folderWith({ "wrangler.toml": policy + toml!.text, "prices.csv": csv!.text });
  const [npx, name, ...args] = commandsOf(command!)[0]!.split(" ");
  expect([npx, name]).toEqual(["npx", "headgate"]);
  expect(await headgate(folder, args)).toMatchObject({ status: 0, stderr: "" });
  const checked = await headgate(folder, ["check", "--memory", "--json"]);
  const { mistakes, configuration } = JSON.parse(checked.stdout) as Record<string, never>;
  expect(mistakes).toEqual([]);
  const { policies } = configuration as unknown as { policies: { meter: { prices: object } }[] };
  expect(policies[0]!.meter.prices).toMatchObject({ "claude-*": { above: { 200000: { output: 22.5 } } } });
});

it("shows what the doctor says of a Redis that forgets counts", () => {
  const [command, text] = blocksOf(PAGE).slice(9, 11);
  expect(commandsOf(command!)).toEqual(["HEADGATE_TOKEN=<token> npx headgate doctor https://gate.example.com"]);
  const facts = {
    ...{ version: VERSION, script: TAKE.sha1, store: "redis", timeoutMs: 250, hasKeySecret: true, atMs: 0 },
    places: [{ name: "redis", latencyMs: 12, aheadMs: 0, eviction: "allkeys-lru" }],
    ...{ omitted: 0, policies: [{ name: "default", key: ["ip"] }] },
    client: { clientIp: null, address: "203.0.113.7", forwardedFor: "203.0.113.7" },
  };
  const clock = { aheadMs: 0, accuracyMs: 0 };
  const health = { status: "ok", version: VERSION };
  const found = findingsOf({ version: VERSION, script: TAKE.sha1, isHere: false, health, facts, clock });
  expect(found.map(shown).join("")).toBe(text!.text);
});

it("shows calls of the admin API that work", async () => {
  const gateway = await startFakeGateway();
  try {
    const [access, ...commands] = commandsOf(blocksOf(PAGE)[11]!);
    expect(access).toMatch(/^export HEADGATE_URL=https:\S+ HEADGATE_TOKEN=<token>$/);
    for (const command of commands) {
      const [npx, name, ...args] = command.match(/"[^"]*"|\S+/g)!.map((word) => word.replaceAll('"', ""));
      expect([npx, name]).toEqual(["npx", "headgate"]);
      const env = { HEADGATE_URL: gateway.url, HEADGATE_TOKEN: TOKEN };
      expect([command, await run(args, { cwd: "/", env, out() {}, err() {} })]).toEqual([command, 0]);
    }
    expect(gateway.calls.length).toBeGreaterThan(commands.length);
  } finally {
    await gateway.stop();
  }
});
