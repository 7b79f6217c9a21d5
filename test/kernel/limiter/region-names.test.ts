// A region's name becomes part of a key in the store. It is checked as in the configuration, wherever it comes from.

import { Hono } from "hono";
import { expect, it } from "vitest";
import { type RateLimitOptions, rateLimit } from "../../../src/adapters/hono.ts";
import { createLimiter, type Limiter, type LimiterOptions } from "../../../src/limiter.ts";
import { recordingStore } from "../../support/redis/stores.ts";

const policies = [
  { name: "here", key: "global", limits: [{ algorithm: "sliding-log", limit: 5, window: "1m", scope: "region" }] },
] as const;

/** The first name would write counts into the key of a sliding log in region `eu`. */
const WRONG = ["eu#5:60000", "eu:x", "eu}", " eu", "_eu", "a".repeat(33), "eu\n", 7, {}, ["eu"]];

/** A limiter, and a store that records its requests. */
function limited(options: Partial<LimiterOptions> = {}) {
  const store = recordingStore();
  return { store, limiter: createLimiter({ policies, store, ...options }) };
}

type Region = Exclude<RateLimitOptions<never>["region"], undefined>;

/** Sends one request through the middleware, and throws what the middleware throws. */
async function send(limiter: Limiter, region: unknown, cf?: object): Promise<void> {
  const app = new Hono();
  app.onError((error) => {
    throw error;
  });
  app.use(rateLimit(limiter, { region: region as Region }));
  const request = new Request("https://gate.example/");
  if (cf) Object.defineProperty(request, "cf", { value: cf });
  await app.request(request);
}

it.each(WRONG)("the region %j is refused, and the store is not asked", async (wrong) => {
  const name = wrong as string;
  expect(() => limited({ region: name })).toThrow(/region: expected 1 to 32 letters.*\(ERR_REGION, .*\)/);
  const { limiter, store } = limited();
  const takes = [{ policy: limiter.policies[0]!, key: { kind: "ip", values: ["a"] }, cost: 1 }];
  for (const call of [
    ...[limiter.take, limiter.peek, limiter.reset].map((method) => () => method("here", { region: name })),
    // Policies and keys that were matched already.
    ...[limiter.takeMatched, limiter.peekMatched].map((method) => () => method(takes, () => name)),
    // What a function of the middleware's options returns.
    () => send(limiter, () => name),
  ]) {
    await expect(async () => void (await call())).rejects.toThrow(TypeError);
  }
  // An option of the middleware, or a name in its table; the same if the limiter is made from env.
  for (const region of [...(typeof name === "object" ? [] : [name]), { colo: { FRA: name } }]) {
    expect(() => rateLimit(limiter, { region: region as never })).toThrow(TypeError);
    expect(() => rateLimit(() => limiter, { region: region as never })).toThrow(TypeError);
  }
  expect([store.takes, store.resets]).toEqual([[], []]);
});

it("a table of the middleware's options may be undefined, and has its codes in either case", async () => {
  const { limiter, store } = limited();
  await send(limiter, { colo: { fra: "frankfurt" }, country: undefined }, { colo: "FRA" });
  expect(store.takes[0]!.keys[0]!.key).toMatch(/:frankfurt$/);
});

it("an empty region of a limiter means what an empty REGION does: none is named", () => {
  expect(limited({ region: "" }).limiter.region).toBe("local");
});

it("a key secret is checked as in the configuration too, and not repeated", () => {
  for (const keySecret of ["fifteen letters", 7]) {
    expect(() => limited({ keySecret: keySecret as string })).toThrow(/keySecret: .*not shown.*\(ERR_KEY_SECRET, .*\)/);
  }
});

it("lists mistakes of the policies and of the options at once", () => {
  const wrong = { policies: [{ name: "A", limits: [] }], region: "no name", keySecret: "short" };
  expect(() => limited(wrong)).toThrow(/4 mistakes/);
});
