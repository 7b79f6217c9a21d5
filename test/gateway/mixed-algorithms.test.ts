// Several algorithms in one decision: all limits are charged, or no limit is.

import { describe, expect, it } from "vitest";
import { fieldsOf } from "../support/cases/fields.ts";
import { startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { startHeldOrigin } from "../support/gateway/held-origin.ts";
import { atATime, watchSlots } from "../support/redis/slots.ts";

const WINDOW = { limit: 4, window: "1h" };
const BUCKET = { algorithm: "token-bucket", limit: 2, window: "31d" };
const LOG = { algorithm: "sliding-log", limit: 9, window: "1h" };
const FIXED = { algorithm: "fixed-window", limit: 7, window: "31d" };
const SLOTS = atATime(1);

/** One policy with all limits, or one policy for each limit. */
const arrangements = (name: string) => {
  const limits = [WINDOW, BUCKET, SLOTS, LOG, FIXED];
  const ids = limits.map((_, i) => `${name}-${i + 1}`);
  return {
    "in one policy": { ids, policies: [{ name, key: ["global"], limits }] },
    "across policies": {
      ids,
      policies: limits.map((limit, i) => ({ name: ids[i], key: [i % 2 ? "ip" : "global"], limits: [limit] })),
    },
  };
};

describe("sliding-window, token-bucket, concurrency, sliding-log and fixed-window", () => {
  it.each(["in one policy", "across policies"] as const)(
    "%s: a refusal by one algorithm charges no limit",
    async (arrangement) => {
      const origin = await startHeldOrigin();
      const name = uniqueName("mix");
      const { ids, policies } = arrangements(name)[arrangement];
      const slots = watchSlots(name);
      const gateway = await startGateway({ policies, vars: { ORIGIN_URL: origin.url } });
      const ask = async () => {
        const answer = await gateway.fetch("/");
        const { states } = fieldsOf(answer);
        // Leave the slots out: a refusal that the isolate remembers may not know that a slot is free again.
        const left = ids.filter((_, i) => i !== 2).map((id) => states![id]!.r);
        const violated = answer.status === 429 ? ((await answer.json()) as Record<string, unknown>) : {};
        return { answer, left, violated: violated["violated-policies"] };
      };

      const first = await ask();
      expect(first).toMatchObject({ answer: { status: 200 }, left: [3, 1, 8, 6] });
      expect(await slots.held()).toBe(1);
      for (let repetition = 1; repetition <= 3; repetition++) {
        expect(await ask()).toMatchObject({ left: [3, 1, 8, 6], violated: [ids[2]] });
      }
      origin.end();
      await first.answer.text();
      await slots.free();

      const second = await ask();
      expect(second).toMatchObject({ answer: { status: 200 }, left: [2, 0, 7, 5] });
      expect(await ask()).toMatchObject({ left: [2, 0, 7, 5], violated: expect.arrayContaining([ids[1]]) });
      expect(await slots.held()).toBe(1);
      origin.end();
      await second.answer.text();
      await slots.free();

      // The bucket refuses this request, so the request takes no slot.
      expect(await ask()).toMatchObject({ left: [2, 0, 7, 5], violated: [ids[1]] });
      expect(await slots.held()).toBe(0);
      expect(origin.requests).toHaveLength(2);
    },
  );
});
