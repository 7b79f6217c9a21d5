/**
 * `npm run faults:chains`: 5,000 requests at once through three gateways in real workerd, over one Redis, over three,
 * and over a Durable Object. A plan, a team and credits pay for them. Calls to the counts and their answers get lost,
 * come late and fail, and once a Redis closes, or the object stops. Exactly one link of a chain must be charged for an
 * admitted request, and at most one for any other. Exits with 1 if it is otherwise.
 *
 * `--requests N`: so many requests. `--seed N`: other draws. `--only redis,three-redis,object`: only these.
 */

import { parseArgs } from "node:util";
import type { PlacesKind } from "../../test/support/faults/chained-places.ts";
import { sendOverflowing } from "../../test/support/faults/overflowing-requests.ts";

const { values } = parseArgs({
  options: {
    requests: { type: "string", default: "5000" },
    seed: { type: "string", default: "1" },
    only: { type: "string", default: "redis,three-redis,object" },
  },
});
const [requests, seed] = [Number(values.requests), Number(values.seed)];
/** All requests are open at once: calls wait for each other. */
const BUDGET_MS = 20_000;
const RATE = 0.08;

let isBroken = false;
for (const kind of values.only.split(",") as PlacesKind[]) {
  const startMs = performance.now();
  const told = await sendOverflowing(kind, { requests, seed, budgetMs: BUDGET_MS, rate: RATE });
  const seconds = ((performance.now() - startMs) / 1_000).toFixed(0);
  const answers = Object.entries(told.statuses).map(([status, count]) => `${count} × ${status}`);
  console.log(`${kind}: ${answers.join(", ")} in ${seconds} s; ${told.faults} of ${told.calls} calls met a fault`);
  for (const [name, { paid, units, most }] of Object.entries(told.policies)) {
    console.log(`  ${name} paid for ${paid}, holds ${units}, may hold ${most}`);
  }
  if (kind === "three-redis") {
    console.log(
      `  ${told.spread} clients whose links lie in three places; ${told.stayed} units could not be given back`,
    );
  }
  for (const line of told.wrong.slice(0, 10)) console.error(`broken: ${line}`);
  isBroken ||= told.wrong.length > 0;
}
process.exit(isBroken ? 1 : 0);
