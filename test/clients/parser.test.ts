// ratelimit-header-parser reads the fields of many services. It also reads headgate's.

import { parseRateLimit } from "ratelimit-header-parser";
import { expect, it } from "vitest";
import { fieldsOf } from "../support/cases/fields.ts";
import { startGateway, uniqueName } from "../support/gateway/gateway.ts";

const policies = () => [
  {
    name: uniqueName("parser"),
    key: ["global"],
    limits: [
      { limit: 2, window: "1h" },
      { limit: 5, window: "1d" },
    ],
  },
];

it("reads the tightest limit, what remains of it and when that grows from mode `legacy`", async () => {
  const gateway = await startGateway({ policies: policies(), vars: { RATE_LIMIT_HEADERS: "legacy" } });

  for (const [status, remaining] of [
    [200, 1],
    [200, 0],
    [429, 0],
  ] as const) {
    const sentAtMs = Date.now();
    const answer = await gateway.fetch("/");
    const parsed = parseRateLimit(answer);

    expect(answer.status).toBe(status);
    expect(parsed).toMatchObject({ limit: 2, remaining, used: 2 - remaining });
    expect(parsed?.reset).toEqual(new Date(1000 * fieldsOf(answer).legacy!.resetAt));
    expect(parsed!.reset!.getTime()).toBeGreaterThan(sentAtMs);
  }
});
