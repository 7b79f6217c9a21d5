// The memory of an isolate with very many clients: the quick form of `npm run bench:memory`, in a separate process.

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const script = fileURLToPath(new URL("../../../bench/isolate-memory.ts", import.meta.url));

/** Of 30,000 clients: about twice what it takes, and less than if every lease were kept (39 MiB, 2026-11). */
const MOST_MIB = 32;

// The timeout is long, because a busy machine may take more than a minute.
it("stays bounded in both modes, and clients that go on asking get no more than their limit", {
  timeout: 180_000,
}, async () => {
  const args = ["--expose-gc", script, "--quick"];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  const rows = [...stdout.matchAll(/^\| (strict|leased) \| ([\d.]+) \| [\d.]+ \| ([\d, ]+) \|$/gm)];
  expect(rows.map(([, mode]) => mode)).toEqual(["strict", "leased"]);
  for (const [, mode, mib, admitted] of rows) {
    expect([mode, Number(mib) < MOST_MIB]).toEqual([mode, true]);
    // Each client asks more often than its limit allows: exactly the limit is admitted.
    expect([mode, admitted]).toEqual([mode, "20"]);
  }
});
