// The whole quick exploration, in a process of its own, because it replaces modules while they load.

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const EXPLORER = fileURLToPath(new URL("../../../scripts/verify/interleavings/main.ts", import.meta.url));

it("every interleaving within small bounds is as promised", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [EXPLORER, "--quick"]);
  expect(stdout.trim().split("\n").at(-1)).toMatch(/^\d+ distinct states, \d+ executions$/);
  // 17 s of one idle processor, which other tests share.
}, 180_000);
