// 200 streams at once on a limit that fits 50 of them: what is reserved never passes the limit, and what running
// streams use beyond their reservations is bounded.

import { setTimeout as sleep } from "node:timers/promises";
import { RateLimitError } from "openai";
import { describe, expect, it } from "vitest";
import { uniqueName } from "../support/gateway/gateway.ts";
import { atOnce, clientsOf } from "../support/llm/clients.ts";
import { meteredForAll } from "../support/llm/metered-gateway.ts";
import type { MockFormat } from "../support/llm/plan.ts";
import { mulberry32 } from "../support/mulberry32.ts";

const STREAMS = 200;
const FITTING = 50;
/** 100 tokens of input, and 100 of output. */
const RESERVED = 200;
const MAX_OUTPUT = 100;
const LIMIT = FITTING * RESERVED;
/** Names and roles of a message count, too. */
const promptOf = (format: MockFormat) =>
  "x".repeat(400 - (format === "openai-responses" ? 0 : "role user content".length - 2));

const NAME = uniqueName("overshoot");
const policy = (kind: string, onExceeded: string) => ({
  name: `${NAME}-${kind}`,
  match: { path: `/${kind}/*` },
  key: ["global"],
  meter: { unit: "tokens", onExceeded },
  limits: [{ algorithm: "fixed-window", limit: LIMIT, window: "31d" }],
});

const metered = meteredForAll({
  policies: [policy("finish", "finish"), policy("cut", "cut")],
});

const clientsAt = (kind: string) => clientsOf(`${metered().gateway.url.href}${kind}`);
const counted = async (kind: string) => (await metered().counted(`${NAME}-${kind}`))[0] ?? 0;

/** Looks at Redis until `work` is done. @returns the most that it has counted. */
async function mostCounted(kind: string, work: Promise<unknown>): Promise<number> {
  let most = 0;
  let isDone = false;
  const done = work.finally(() => {
    isDone = true;
  });
  while (!isDone) {
    most = Math.max(most, await counted(kind));
    await sleep(5);
  }
  await done;
  return most;
}

const settled = { timeout: 20_000, interval: 20 };

describe("200 streams on a limit that fits 50", () => {
  it("fill the limit and do not pass it; with `finish` they end, and beyond the limit is what they used beyond", async () => {
    const { ask } = clientsAt("finish");
    const seed = Date.now() % 2 ** 31;
    console.log(`seed ${seed}`);
    const next = mulberry32(seed);
    const used = Array.from({ length: STREAMS }, () => 100 + Math.floor(next() * 400));
    const ended: number[] = [];
    let refused = 0;
    const all = atOnce(STREAMS, STREAMS, async (i) => {
      const usage = { inputTokens: 90, cachedInputTokens: 0, outputTokens: used[i]! - 90 };
      const plan = { seed: i, tokens: 4, holdAfter: 0, usage };
      try {
        await ask({
          ...{ format: "openai-chat", stream: true, model: "m", maxTokens: MAX_OUTPUT, plan },
          prompt: promptOf("openai-chat"),
        });
        ended.push(used[i]!);
      } catch (error) {
        expect(error).toBeInstanceOf(RateLimitError);
        refused++;
      }
    });
    const held = expect
      .poll(() => [metered().provider.inFlight, refused], settled)
      .toEqual([FITTING, STREAMS - FITTING]);
    expect(await mostCounted("finish", held)).toBeLessThanOrEqual(LIMIT);
    expect(await counted("finish")).toBe(LIMIT);

    metered().provider.resume();
    await all;
    const sum = ended.reduce((sum, one) => sum + one, 0);
    await expect.poll(() => counted("finish"), settled).toBe(sum);
    expect(ended).toHaveLength(FITTING);
    const beyond = ended.reduce((all, one) => all + Math.max(0, one - RESERVED), 0);
    console.log(`finish: limit ${LIMIT}, used ${sum}, beyond the limit ${sum - LIMIT}, beyond reservations ${beyond}`);
    expect(sum - LIMIT).toBeLessThanOrEqual(beyond);
  });

  it("are cut with `cut`, at most 255 tokens beyond what is charged", async () => {
    const { ask } = clientsAt("cut");
    const formats = ["openai-chat", "openai-responses", "anthropic-messages"] as const;
    const outcomes = { ended: 0, refused: 0, cut: 0 };
    const before = metered().provider.exchanges.length;
    const all = atOnce(STREAMS, STREAMS, async (i) => {
      const format = formats[i % 3]!;
      // Each fourth stream ends early: the others get what it leaves.
      const tokens = i % 4 === 0 ? { tokens: 2 } : { tokens: 100_000, delayMs: 10 };
      const usage = { inputTokens: 100, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 10 };
      const plan = { seed: i, holdAfter: 0, usage, ...tokens };
      await ask({ format, stream: true, model: "m", maxTokens: MAX_OUTPUT, prompt: promptOf(format), plan }).then(
        () => outcomes.ended++,
        ({ status, message }) => {
          if (status === 429) outcomes.refused++;
          else {
            expect(message).toContain("The limit of this client is used up");
            outcomes.cut++;
          }
        },
      );
    });
    await expect
      .poll(() => [metered().provider.inFlight, outcomes.refused], settled)
      .toEqual([FITTING, STREAMS - FITTING]);
    expect(await counted("cut")).toBe(LIMIT);
    metered().provider.resume();
    const most = await mostCounted("cut", all);
    // The provider is left, too.
    await expect.poll(() => metered().provider.inFlight, settled).toBe(0);
    await expect.poll(() => counted("cut"), settled).toBeGreaterThan(LIMIT - 256);
    const sum = await counted("cut");
    console.log(`cut: limit ${LIMIT}, used ${sum}, most in between ${most}, ${JSON.stringify(outcomes)}`);
    expect(outcomes.ended + outcomes.cut).toBe(FITTING);
    expect(outcomes.cut).toBeGreaterThan(0);
    expect(Math.max(sum, most) - LIMIT).toBeLessThanOrEqual(255 * outcomes.cut);
    const streams = metered().provider.exchanges.slice(before);
    expect(streams.filter(({ clientGone }) => clientGone)).toHaveLength(outcomes.cut);
  });
});
