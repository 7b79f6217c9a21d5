// A Worker that test/support/faults/chained-places.ts bundles: its object loses some calls and some answers, by chance
// with a seed, as test/support/faults/call-proxy.ts does before Redis. The Worker tells what became of them, stops the
// object in the middle of its work, and shows what it holds.

import { Flag } from "../../src/kernel/core/layout.ts";
import { onceKeyOf } from "../../src/kernel/core/once.ts";
import type { TakeRequest } from "../../src/kernel/core/take.ts";
import { HeadgateCounts as RealCounts } from "../../src/kernel/store/durable-object.ts";
import { shardName } from "../../src/kernel/store/durable-object-place.ts";
import { type Asked, type CountedCall, IN_TIME } from "../support/faults/counted-calls.ts";
import { mulberry32 } from "../support/mulberry32.ts";

/** `ran`: it runs, and its answer is lost. `late`: its answer comes too late. `error`, `hangs`: it does not run. */
const FAULTS = ["ran", "ran", "late", "error", "hangs"] as const;

interface Call extends CountedCall {
  outcome: CountedCall["outcome"];
  /** When it was answered, ms since the epoch. */
  endedAtMs: number;
}

/** An answer that was given this long ago has left the object. */
const LEFT_MS = 500;
/** By how much a late answer misses the time budget, in ms. */
const LATE_BY_MS = 200;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

// The object and the Worker are in one isolate, and what stands here outlives a stop of the object.
const calls: Call[] = [];
const random = mulberry32(1);
let rate = 0;
let budgetMs = 0;
/** No call that is under way was made before this instant, ms since the epoch. */
let sinceMs = 0;
let faults = 0;

export class HeadgateCounts extends RealCounts {
  override async take(request: TakeRequest, nowMs?: number) {
    const fault = random() < rate ? FAULTS[Math.floor(random() * FAULTS.length)] : undefined;
    if (fault) faults++;
    const keys = request.keys.flatMap(({ key, once }) => (once ? [key, onceKeyOf(key, once)] : [key]));
    // Until the object has written and answered, a stop may undo the one or lose the other.
    const call: Call = { keys, isGiveBack: request.flag === Flag.giveBack, outcome: "unknown", endedAtMs: 0 };
    calls.push(call);
    if (fault === "error" || fault === "hangs") {
      call.outcome = "not-run";
      if (fault === "hangs") await pause(2 * budgetMs);
      throw new Error("lost");
    }
    const reply = await super.take(request, nowMs);
    if (fault === "late") await pause(budgetMs + LATE_BY_MS);
    const isInTime = fault !== "ran" && Date.now() - sinceMs < IN_TIME * budgetMs;
    Object.assign(call, { outcome: isInTime ? "heard" : "late", endedAtMs: Date.now() });
    if (fault === "ran") throw new Error("lost");
    return reply;
  }

  async crash(): Promise<void> {
    // Nobody knows whether what was written and answered just now was durable and has left the object.
    const lately = Date.now() - LEFT_MS;
    for (const call of calls) if (call.endedAtMs > lately) call.outcome = "unknown";
    this.ctx.abort("crashed by a test");
  }
}

export default {
  async fetch(request: Request, env: { readonly COUNTS: DurableObjectNamespace<HeadgateCounts> }): Promise<Response> {
    const asked = (await request.json()) as Asked;
    const object = env.COUNTS.getByName(shardName(0));
    if ("rate" in asked) {
      ({ rate, budgetMs } = asked);
      sinceMs = Date.now();
    }
    // The call ends with the object.
    if ("crash" in asked) await object.crash().catch(() => {});
    if ("take" in asked) return Response.json(await object.take(asked.take));
    return Response.json({ calls, faults });
  },
};
