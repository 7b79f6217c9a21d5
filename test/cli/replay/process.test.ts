// `headgate replay` as a process of its own: a full disk, a reader that goes away.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, openSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, it } from "vitest";
import { buildCli } from "../../../scripts/build/build-cli.ts";
import { ROOT } from "../../docs/markdown.ts";

const LINE = '203.0.113.7 - - [21/Nov/2026:10:00:00 +0000] "GET /v1/items HTTP/1.1" 200 12 "-" "curl/8"\n';
const FILES = {
  "wrangler.toml": '[[vars.POLICIES]]\nname = "site"\nlimits = [{ limit = 1, window = "1m" }]\n',
  "access.log": LINE.repeat(3),
  "package.json": '{"type":"module"}',
};

/** Holds the bundle of the package, a configuration and a log. */
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "headgate-replay-"));
  buildCli(folder);
  // The bundle's imports are found from the folder.
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"), "junction");
  for (const [name, content] of Object.entries(FILES)) writeFileSync(join(folder, name), content);
});
afterAll(() => rmSync(folder, { recursive: true }));

function start(args: readonly string[], stdout: number | "pipe" = "pipe") {
  const child = spawn(process.execPath, ["headgate.js", "replay", ...args], {
    cwd: folder,
    stdio: ["pipe", stdout, "pipe"],
  });
  return { child, stderr: text(child.stderr!), closed: once(child, "close") };
}

it("says that the disk is full, and ends with 1", async () => {
  const { stderr, closed } = start(["--log", "access.log"], openSync("/dev/full", "w"));
  expect([(await closed)[0], await stderr]).toEqual([
    1,
    "headgate: the report could not be written: ENOSPC: no space left on device\n",
  ]);
});

it("says that nobody has read the report to its end, and ends with 1", async () => {
  const { child, stderr, closed } = start(["--log", "access.log", "--json"]);
  child.stdout!.destroy();
  expect([(await closed)[0], await stderr]).toEqual([
    1,
    "headgate: the report could not be written: the pipe was closed\n",
  ]);
});
