/**
 * How long an isolate reads the largest live document: the first time, when its code is not compiled yet, and later.
 * What the document adds to a request is measured by `npm run bench -- features`.
 *
 *   npm run bench:live
 */

import { once } from "node:events";
import { isMainThread, parentPort, Worker } from "node:worker_threads";
import { parsePolicies } from "../src/features/configuration.ts";
import { readLive } from "../src/features/live/document.ts";
import { viewOf } from "../src/features/live/view.ts";

/** Isolates, and readings of each. Each figure is the least of all, because other work shares the machine. */
const ISOLATES = 15;
const RUNS = 31;
const OVERRIDES = 2_000;
/** The largest document. */
const KIB_256 = 262_144;

const parsed = parsePolicies(
  ["api", "login", "site"].map((name) => ({ name, limits: [{ limit: 1, window: "1d" }] })),
  "policies",
);
if (parsed.mistakes) throw new Error("the policies of this benchmark have mistakes");
const policies = parsed.value;

/** A document with overrides of many clients, whose notes fill it. */
function largestDocument(): string {
  const text = (note: string) => {
    const overrides = Array.from({ length: OVERRIDES }, (_, i) => {
      const { name } = policies[i % policies.length]!;
      const key = String(i).padStart(22, "k");
      const numbers = i % 2 ? { factor: 2 } : { limits: { [name]: 1 } };
      return { policy: name, kind: "key", key, ...numbers, until: "2099-01-01T00:00:00Z", note };
    });
    return JSON.stringify({ policies: { login: { mode: "shadow" } }, overrides });
  };
  return text("n".repeat(Math.floor((KIB_256 - text("").length) / OVERRIDES)));
}

/** The ms that each reading takes, one after the other. */
function readings(): number[] {
  const text = largestDocument();
  return Array.from({ length: RUNS }, () => {
    const beganMs = performance.now();
    viewOf(1, readLive(text)!, policies, "");
    return performance.now() - beganMs;
  });
}

if (!isMainThread) parentPort!.postMessage(readings());
else {
  const [first, later]: [number[], number[]] = [[], []];
  for (let i = 0; i < ISOLATES; i++) {
    const [[own, ...others]] = (await once(new Worker(new URL(import.meta.url)), "message")) as [number[]];
    first.push(own!);
    later.push(...others);
  }
  const [firstMs, laterMs] = [first, later].map((all) => Math.min(...all).toFixed(2));
  console.log(`${OVERRIDES} overrides, ${KIB_256 / 1_024} KiB: read first in ${firstMs} ms, later in ${laterMs} ms`);
}
