import { expect, it, vi } from "vitest";
import { fieldsOf } from "../support/cases/fields.ts";
import { gatewayWith, recordingOrigin } from "./support.ts";

const WRONG = {
  POLICIES: [
    { name: "Wrong Name", key: ["shoe-size"], limits: [{ limit: 5, window: "a fortnight" }] },
    { name: "costly", cost: [{ cost: 4712 }], limits: [{ limit: 4711, window: "815s", buckets: 7 }] },
  ],
  UPSTASH_REDIS_REST_URL: "redis://user:passw0rd@secret-host",
  KEY_SECRET: "sh0rt",
  REGION: "not a region",
};
const CODES = [
  ["POLICIES[0].name", "ERR_POLICY_NAME"],
  ["POLICIES[0].key[0]", "ERR_POLICY_KEY"],
  ["POLICIES[0].limits[0].window", "ERR_POLICY_WINDOW"],
  ["POLICIES[1].limits[0].buckets", "ERR_POLICY_BUCKETS"],
  ["POLICIES[1].cost[0].cost", "ERR_POLICY_COST_NEVER"],
  ["UPSTASH_REDIS_REST_URL", "ERR_REDIS_URL"],
  ["REGION", "ERR_REGION"],
  ["KEY_SECRET", "ERR_KEY_SECRET"],
];
const VALUES = /4711|4712|815000|Wrong Name|shoe-size|fortnight|passw0rd|secret-host|sh0rt|not a region/;

type Shown = { mistakes: Record<string, string>[] };
const pathsAndCodes = ({ mistakes }: Shown) => mistakes.map(({ path, code }) => [path, code]);

it("a misconfigured gateway answers 500 with paths and codes, shows no value, and asks no origin; so does its health with 503", async () => {
  const { requests, ORIGIN } = recordingOrigin();
  const ask = gatewayWith({ ...WRONG, ORIGIN });
  const answer = await ask("/any/path", { method: "POST", body: "x" });
  const text = await answer.text();
  const body = JSON.parse(text) as Shown;

  expect(answer.status).toBe(500);
  expect(answer.headers.get("Content-Type")).toBe("application/problem+json");
  expect(answer.headers.get("Cache-Control")).toBe("no-store");
  expect(body).toMatchObject({ type: "urn:headgate:problem:misconfigured", title: "Misconfigured", status: 500 });
  expect(pathsAndCodes(body)).toEqual(expect.arrayContaining(CODES));
  expect(body.mistakes).toHaveLength(CODES.length);
  expect(text).not.toMatch(VALUES);
  expect(fieldsOf(answer)).toEqual({});
  expect(requests).toEqual([]);

  const health = await ask("/.headgate/health");
  const told = await health.text();
  expect([health.status, JSON.parse(told)]).toMatchObject([503, { status: "misconfigured" }]);
  expect(pathsAndCodes(JSON.parse(told))).toEqual(pathsAndCodes(body));
  expect(told).not.toMatch(VALUES);
});

it("the log names what was found, but no secret", () => {
  const error = vi.spyOn(console, "error").mockImplementation(() => {});
  gatewayWith(WRONG);
  const line = error.mock.calls.join();
  expect(line).toContain("a fortnight");
  expect(line).not.toMatch(/passw0rd|secret-host|sh0rt/);
});
