// Every algorithm over HTTP: admitted and refused requests, and what the header fields say about both.

import { describe, expect, it } from "vitest";
import { fieldsOf } from "../support/cases/fields.ts";
import { startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { startHeldOrigin } from "../support/gateway/held-origin.ts";
import { atATime, watchSlots } from "../support/redis/slots.ts";

/** Long enough that no test sees the window end. */
const window = "30d";
const SECONDS = 30 * 86_400;

describe("two at once, then", () => {
  it.each([
    ["sliding-window", { limit: 2, window }, { q: 2, w: SECONDS }],
    ["sliding-window of ten whole buckets", { limit: 2, window, buckets: 10, oldest: "whole" }, { q: 2, w: SECONDS }],
    ["fixed-window", { algorithm: "fixed-window", limit: 2, window }, { q: 2, w: SECONDS }],
    ["sliding-log", { algorithm: "sliding-log", limit: 2, window }, { q: 2, w: SECONDS }],
    ["token-bucket", { algorithm: "token-bucket", limit: 2, window }, { q: 2, w: SECONDS }],
    ["token-bucket of a burst", { algorithm: "token-bucket", limit: 4, window, burst: 2 }, { q: 2, w: SECONDS / 2 }],
    ["leaky-bucket", { algorithm: "leaky-bucket", limit: 6, window, burst: 2 }, { q: 2, w: SECONDS / 3 }],
  ])("%s refuses, and says when to come back", async (_, limit, shown) => {
    const name = uniqueName("each");
    const gateway = await startGateway({ policies: [{ name, limits: [limit] }] });

    const answers = [await gateway.fetch("/"), await gateway.fetch("/"), await gateway.fetch("/")];

    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
    const fields = answers.map(fieldsOf);
    for (const [i, { policies, states, legacy }] of fields.entries()) {
      expect(policies).toEqual({ [name]: shown });
      expect(states).toEqual({ [name]: { r: [1, 0, 0][i], t: expect.any(Number) } });
      expect(legacy).toMatchObject({ limit: 2, remaining: [1, 0, 0][i] });
    }
    expect(fields.map(({ retryAfter }) => retryAfter)).toEqual([undefined, undefined, expect.any(Number)]);
    const { retryAfter, states } = fields[2]!;
    expect(retryAfter).toBe(states![name]!.t);
    expect(retryAfter).toBeGreaterThan(0);
    expect(await answers[2]!.json()).toMatchObject({ status: 429, "violated-policies": [name] });
  });
});

it("concurrency refuses while two are in flight, and promises no time", async () => {
  const origin = await startHeldOrigin();
  const name = uniqueName("each");
  const slots = watchSlots(name);
  const gateway = await startGateway({
    policies: [{ name, limits: [atATime(2)] }],
    vars: { ORIGIN_URL: origin.url },
  });

  const answers = [await gateway.fetch("/"), await gateway.fetch("/"), await gateway.fetch("/")];
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
  for (const [i, { policies, states, legacy, retryAfter }] of answers.map(fieldsOf).entries()) {
    expect(policies).toEqual({ [name]: { q: 2, qu: "concurrent-requests" } });
    expect(states).toEqual({ [name]: { r: [1, 0, 0][i] } });
    expect(legacy).toMatchObject({ limit: 2, remaining: [1, 0, 0][i] });
    expect(retryAfter).toBe([undefined, undefined, 1][i]);
  }
  expect(answers[2]!.headers.get("RateLimit-Policy")).toBe(`"${name}";q=2;qu="concurrent-requests"`);

  origin.end();
  for (const answer of answers) await answer.text();
  await slots.free();
  const again = await gateway.fetch("/");
  expect([again.status, fieldsOf(again).states]).toEqual([200, { [name]: { r: 1 } }]);
});
