// The memory store is bounded by what its keys hold, not by the number of keys: a log has up to 10,000 entries.

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import type { LimitSpec } from "../../../src/kernel/core/algorithms.ts";
import type { ConcurrencyView } from "../../../src/kernel/core/concurrency.ts";
import type { LogView } from "../../../src/kernel/core/sliding-log.ts";
import { Flag, limitKeyOf } from "../../../src/kernel/core/take.ts";
import { createCounts } from "../../../src/kernel/store/memory.ts";
import { keyRequest } from "../../support/gateway/counter.ts";

const NOW_MS = 1_700_000_000_000;
const windowMs = 60_000;
const log: LimitSpec = { kind: Kind.log, limit: 10_000, windowMs };
const slots: LimitSpec = { kind: Kind.concurrency, limit: 10_000, timeoutMs: windowMs };
const MAX_KEYS = 100;
/** So few keys share two generations of 4 MiB each. */
const BYTES = 2 * 4 * 1024 * 1024;
const HELD = 10_000;
const CLIENTS = 60;
const numbers = Array.from({ length: HELD }, (_, n) => n);
const LOG = numbers.map(() => ({ atMs: NOW_MS, cost: 1 }));
const SLOTS = new Map(numbers.map((n) => [n, NOW_MS + 1]));

const requestOf = (client: number, limit: LimitSpec, flag: Flag, slot = 0) => {
  return { keys: [keyRequest(`client ${client}`, [limit])], flag, slot };
};

/** Every client gets a full log, or all slots. Returns how many of these one client still has. */
function heldOf(client: number, limit: LimitSpec): number {
  const counts = createCounts(MAX_KEYS);
  for (let each = 0; each < CLIENTS; each++) {
    counts.take(requestOf(each, limit, Flag.take), NOW_MS);
    counts.write(limitKeyOf(`client ${each}`, limit), limit === log ? LOG : SLOTS);
  }
  // Look at one client only, because a look moves what it finds. A dropped log counts as empty, although its record is
  // still there.
  const { keys } = counts.take(requestOf(client, limit, Flag.look), NOW_MS);
  const view = keys[0]![0]!.view as LogView | ConcurrencyView;
  return view.kind === Kind.log ? Number(view.used > 0) * HELD : view.inFlight;
}

it.each([
  ["logs", log, 75],
  ["slots", slots, 90],
] as const)("holds no more %s than 8 MiB of them, and those of the clients that came last", (_what, limit, bytes) => {
  const held = Array.from({ length: CLIENTS }, (_, client) => heldOf(client, limit));
  const total = held.reduce((sum, left) => sum + left, 0);
  // Plus the value that was written last, whatever its size.
  expect(total).toBeLessThanOrEqual(BYTES / bytes + HELD);
  expect(held.slice(-4)).toEqual([HELD, HELD, HELD, HELD]);
});

it("stays within its bound on the heap with the heaviest keys there can be", { timeout: 240_000 }, async () => {
  const script = fileURLToPath(new URL("../../../bench/isolate-counts.ts", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, ["--expose-gc", script, "--quick"]);
  const rows = [...stdout.matchAll(/^\| .+ \| \d+ \| \d+ \| ([\d.]+) \|$/gm)].map(([, mib]) => Number(mib));
  expect(rows).toHaveLength(3);
  for (const mib of rows) {
    expect(mib).toBeLessThan(49);
    // A smaller figure would mean that the test measured something else.
    expect(mib).toBeGreaterThan(10);
  }
});
