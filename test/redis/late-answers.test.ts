// After the budget of a call: when the service has failed, and when only this isolate was too busy to read the answer.

import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { RedisError } from "../../src/kernel/store/redis/client.ts";
import { freshImport } from "../support/fresh-import.ts";

const BUDGET_MS = 250;
/** How much longer a busy isolate waits for an answer. */
const LATE_ANSWER_MS = 2_000;
let client: typeof import("../../src/kernel/store/redis/rest.ts");
/** Answers the one request. */
let answer: () => void;

beforeEach(async () => {
  vi.useFakeTimers({ now: 1_700_000_000_000 });
  // What an isolate knows of itself begins anew.
  client = await freshImport("kernel/store/redis/rest.ts");
  vi.stubGlobal("fetch", (_url: string, { signal }: { signal: AbortSignal }) => {
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    signal.addEventListener("abort", () => reject(signal.reason));
    answer = () => resolve(Response.json({ result: "PONG" }));
    return promise;
  });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** A call whose budget is spent, and what is known of the service. @param isBusy the isolate stood still meanwhile. */
async function spent(isBusy: boolean): Promise<{ hasFailed: boolean | undefined }> {
  const known: { hasFailed: boolean | undefined } = { hasFailed: undefined };
  const options = { url: "https://redis.example", token: "t", timeoutMs: BUDGET_MS };
  const failure = client
    .restClient(options)
    .run((redis) => redis.ping())
    .catch((error: RedisError) => error);
  await vi.advanceTimersByTimeAsync(BUDGET_MS - 1);
  // A late timer is looked at again a little later.
  if (isBusy) vi.setSystemTime(Date.now() + 400);
  await vi.advanceTimersByTimeAsync(isBusy ? 51 : 1);
  const { code, timeout } = (await failure) as RedisError;
  expect(code).toBe("TIMEOUT");
  void timeout!.hasFailed.then((hasFailed) => {
    known.hasFailed = hasFailed;
  });
  return known;
}

it("a service without an answer within a second budget has failed", async () => {
  const known = await spent(false);
  await vi.advanceTimersByTimeAsync(BUDGET_MS - 1);
  expect(known.hasFailed).toBeUndefined();
  await vi.advanceTimersByTimeAsync(1);
  expect(known.hasFailed).toBe(true);
});

it("for a busy isolate it has failed 2 s later", async () => {
  const known = await spent(true);
  await vi.advanceTimersByTimeAsync(BUDGET_MS + LATE_ANSWER_MS - 1);
  expect(known.hasFailed).toBeUndefined();
  await vi.advanceTimersByTimeAsync(1);
  expect(known.hasFailed).toBe(true);
});

it.each([
  ["within a second budget", false, BUDGET_MS - 1],
  ["that a busy isolate reads after its second budget", true, BUDGET_MS + LATE_ANSWER_MS - 1],
])("an answer %s shows that the service is well", async (_when, isBusy, afterMs) => {
  const known = await spent(isBusy);
  await vi.advanceTimersByTimeAsync(afterMs);
  answer();
  await vi.advanceTimersByTimeAsync(0);
  expect(known.hasFailed).toBe(false);
});
