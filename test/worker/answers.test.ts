// What a client gets: the fields of an answer and the body of a refusal.

import { describe, expect, it } from "vitest";
import { fieldsOf } from "../support/cases/fields.ts";
import { gatewayWith, recordingOrigin, uniqueName } from "./support.ts";

describe("an admitted request", () => {
  it("carries one member for each limit of each matching policy, in the order of the configuration", async () => {
    const [first, second, other] = [uniqueName("first"), uniqueName("second"), uniqueName("other")];
    const ask = gatewayWith({
      POLICIES: [
        {
          name: first,
          limits: [
            { limit: 20, window: "1h" },
            { limit: 5, window: "30m", scope: "region" },
            { limit: 100, window: "1d", buckets: 24 },
          ],
        },
        { name: other, match: { path: "/other" }, limits: [{ limit: 1, window: "1h" }] },
        { name: second, limits: [{ limit: 9, window: "1500ms" }] },
      ],
    });

    const { policies, states, legacy } = fieldsOf(await ask("/"));

    expect(Object.entries(policies!)).toEqual([
      [`${first}-1`, { q: 20, w: 3600 }],
      [`${first}-2`, { q: 5, w: 1800 }],
      [`${first}-3`, { q: 100, w: 86_400 }],
      // This window is not a whole number of seconds.
      [second, { q: 9 }],
    ]);
    expect(Object.entries(states!).map(([name, { r }]) => [name, r])).toEqual([
      [`${first}-1`, 19],
      [`${first}-2`, 4],
      [`${first}-3`, 99],
      [second, 8],
    ]);
    expect(legacy).toMatchObject({ limit: 5, remaining: 4 });
  });

  it.each([
    ["both", true, true],
    ["draft-11", true, false],
    ["legacy", false, true],
    ["none", false, false],
  ])("with RATE_LIMIT_HEADERS = %s carries the draft's fields: %s, the X- fields: %s", async (mode, draft, legacy) => {
    const ask = gatewayWith({
      RATE_LIMIT_HEADERS: mode,
      POLICIES: [{ name: uniqueName("mode"), limits: [{ limit: 1, window: "1h" }] }],
    });
    for (const status of [200, 429]) {
      const answer = await ask("/");
      const fields = fieldsOf(answer);
      expect(answer.status).toBe(status);
      expect([fields.policies, fields.states].map((found) => found !== undefined)).toEqual([draft, draft]);
      expect(fields.legacy !== undefined).toBe(legacy);
      expect(fields.retryAfter !== undefined).toBe(status === 429);
    }
  });
});

describe("a refused request", () => {
  it("is a problem that names the violated limits and the wait, and is not to be stored", async () => {
    const name = uniqueName("refused");
    const { requests, ORIGIN } = recordingOrigin();
    const ask = gatewayWith({
      ORIGIN,
      POLICIES: [
        {
          name,
          limits: [
            { limit: 1, window: "1h" },
            { limit: 2, window: "2h" },
          ],
        },
      ],
    });
    await ask("/");

    const answer = await ask("/");
    const fields = fieldsOf(answer);
    const body = (await answer.json()) as Record<string, unknown>;

    expect(answer.status).toBe(429);
    expect(answer.headers.get("Content-Type")).toBe("application/problem+json");
    expect(answer.headers.get("Cache-Control")).toBe("no-store");
    expect(body).toEqual({
      type: "https://iana.org/assignments/http-problem-types#quota-exceeded",
      title: "Quota Exceeded",
      status: 429,
      detail: expect.stringContaining(`${name}-1 (1 per 1h in all regions)`),
      "violated-policies": [`${name}-1`],
      retryAfterMs: fields.retryAfter! * 1_000,
      message: body.detail,
      error: { message: body.detail, type: "rate_limit", code: "quota_exceeded" },
    });
    expect(fields.states).toMatchObject({ [`${name}-1`]: { r: 0 }, [`${name}-2`]: { r: 1 } });
    // The cost is one unit: when a unit comes back, `r` grows and the request is admitted.
    expect(fields.retryAfter).toBe(fields.states![`${name}-1`]!.t);
    expect(fields.retryAfter).toBeGreaterThan(0);
    expect(requests).toHaveLength(1);
  });
});

describe("a limit per region", () => {
  it("counts in each region on its own, by REGION or by the codes of Cloudflare", async () => {
    const POLICIES = [
      {
        name: uniqueName("region"),
        limits: [
          { limit: 3, window: "1h" },
          { limit: 1, window: "1h", scope: "region" },
        ],
      },
    ];
    const named = gatewayWith({ POLICIES, REGION: "frankfurt" });
    const byCode = gatewayWith({ POLICIES, REGIONS: { colo: { FRA: "frankfurt" }, country: { US: "america" } } });

    expect((await named("/")).status).toBe(200);
    const refused = await byCode("/", { cf: { colo: "FRA", continent: "EU" } });
    expect(refused.status).toBe(429);
    expect(((await refused.json()) as { detail: string }).detail).toContain("1 per 1h in region frankfurt");
    expect((await byCode("/", { cf: { colo: "EWR", country: "US", continent: "NA" } })).status).toBe(200);
    expect((await byCode("/", { cf: { colo: "NRT", country: "JP", continent: "AS" } })).status).toBe(200);
    // This region has units left, but the global limit is reached.
    expect((await byCode("/", { cf: { continent: "SA" } })).status).toBe(429);
  });
});
