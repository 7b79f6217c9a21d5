// Redis refuses connections. Each policy decides by its own setting. No answer shows invented numbers.

import { describe, expect, it } from "vitest";
import { fieldsOf } from "../support/cases/fields.ts";
import { DEAD_REDIS, gatewayWith, recordingOrigin, uniqueName } from "./support.ts";

const policy = (onStoreFailure: string | undefined, more: object = {}) => ({
  name: uniqueName("fails"),
  limits: [{ limit: 2, window: "1h" }],
  ...(onStoreFailure && { onStoreFailure }),
  ...more,
});

async function statuses(POLICIES: object[], requests = 4): Promise<number[]> {
  const ask = gatewayWith({ ...DEAD_REDIS, POLICIES });
  const found: number[] = [];
  for (let i = 0; i < requests; i++) found.push((await ask("/")).status);
  return found;
}

describe("when Redis cannot be reached", () => {
  it("`deny` answers 503 with a problem, a Retry-After and no numbers, and asks no origin", async () => {
    const { requests, ORIGIN } = recordingOrigin();
    const ask = gatewayWith({ ...DEAD_REDIS, ORIGIN, POLICIES: [policy("deny")] });

    const answer = await ask("/");

    expect(answer.status).toBe(503);
    expect(answer.headers.get("Content-Type")).toBe("application/problem+json");
    expect(answer.headers.get("Cache-Control")).toBe("no-store");
    const message = expect.any(String);
    expect(await answer.json()).toEqual({
      type: "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
      title: "Temporary Reduced Capacity",
      status: 503,
      detail: message,
      message,
      error: { message, type: "overloaded", code: "temporary_reduced_capacity" },
    });
    expect(fieldsOf(answer)).toEqual({ retryAfter: 1 });
    expect(requests).toEqual([]);
  });

  it("`local` keeps limiting with the isolate's own counts, and shows no numbers", async () => {
    const name = uniqueName("local");
    const ask = gatewayWith({ ...DEAD_REDIS, POLICIES: [{ ...policy("local"), name }] });
    const answers = [await ask("/"), await ask("/"), await ask("/"), await ask("/", { address: "192.0.2.2" })];

    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429, 200]);
    expect(answers.map(fieldsOf)).toEqual([{}, {}, { retryAfter: expect.any(Number) }, {}]);
    expect(await answers[2]!.json()).toMatchObject({ "violated-policies": [name] });
  });

  it("`local` is the default", async () => {
    expect(await statuses([policy(undefined)])).toEqual([200, 200, 429, 429]);
  });

  it("`allow` lets everything pass, without fields", async () => {
    const ask = gatewayWith({ ...DEAD_REDIS, POLICIES: [policy("allow")] });
    for (let i = 0; i < 4; i++) {
      const answer = await ask("/");
      expect(answer.status).toBe(200);
      expect(fieldsOf(answer)).toEqual({});
    }
  });

  it("the strictest of several policies wins", async () => {
    expect(await statuses([policy("allow"), policy("local")])).toEqual([200, 200, 429, 429]);
    expect(await statuses([policy("allow"), policy("deny"), policy("local")], 1)).toEqual([503]);
  });

  it("a policy in shadow denies nothing", async () => {
    expect(await statuses([policy("deny", { mode: "shadow" }), policy("local")])).toEqual([200, 200, 429, 429]);
    expect(await statuses([policy("local", { mode: "shadow" }), policy("allow")])).toEqual([200, 200, 200, 200]);
  });

  it("a request that no policy matches is not touched", async () => {
    expect(await statuses([policy("deny", { match: { path: "/other" } })], 1)).toEqual([200]);
  });
});

it("a Redis that refuses the token is a failure of the store, not an answer", async () => {
  const ask = gatewayWith({ UPSTASH_REDIS_REST_TOKEN: "wrong", POLICIES: [policy("deny")] });
  expect((await ask("/")).status).toBe(503);
});
