// The memory of a stream of a million tokens, in a separate process.

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const script = fileURLToPath(new URL("../../../bench/llm-memory.ts", import.meta.url));

it("a stream of a million tokens holds less than 1 MiB", { timeout: 60_000 }, async () => {
  // It fails if what was used is not what the stream has told.
  const { stdout } = await promisify(execFile)(process.execPath, ["--expose-gc", script]);
  const rows = [...stdout.matchAll(/^\| (finish|cut) \| (-?[\d.]+) \|$/gm)];
  expect(rows.map(([, mode]) => mode)).toEqual(["finish", "cut"]);
  for (const [, mode, mib] of rows) expect([mode, Number(mib) < 1]).toEqual([mode, true]);
});
