// Which requests are sent again, which are not, and when a client gives up.

import { describe, expect, it, vi } from "vitest";
import { fetchWithBackoff } from "../../src/client/index.ts";
import { type Answer, answer, failure, ok, scripted, URL_OF_API } from "./scripted.ts";

const refused = answer(429, { "Retry-After": "1" });
const busy = answer(503, { "Retry-After": "2" });
const stream = () => new Blob(["text"]).stream();

async function statusAndSent(
  answers: readonly Answer[],
  init?: RequestInit,
): Promise<[number | string, readonly string[]]> {
  const { options, sent } = scripted(answers);
  const result = await fetchWithBackoff(URL_OF_API, init, options).catch((error: Error) => error.message);
  return [typeof result === "string" ? result : result.status, sent];
}

it("what is admitted is sent once, without a wait, also after an answer that had nothing left", async () => {
  const { options, sent, waitsMs } = scripted([answer(200, { RateLimit: '"a";r=0;t=9' })]);
  for (let i = 0; i < 2; i++) await fetchWithBackoff(URL_OF_API, undefined, options);
  expect([sent, waitsMs]).toEqual([["GET", "GET"], []]);
});

describe("after a 429, which was not processed, whatever can be sent again is", () => {
  it.each([
    ["GET", undefined],
    ["POST", "text"],
    ["POST", new Blob(["text"])],
    ["POST", new TextEncoder().encode("text")],
    ["DELETE", undefined],
  ])("%s with %o", async (method, body) => {
    const [status, sent] = await statusAndSent([refused, refused, ok], { method, ...(body && { body }) });
    expect(status).toBe(200);
    expect(sent).toHaveLength(3);
    expect(new Set(sent).size).toBe(1);
  });

  async function* chunks() {
    yield new TextEncoder().encode("text");
  }
  it.each([
    ["a stream", stream()],
    ["an async iterable, which Node takes for a body", chunks()],
  ])("but not %s", async (_what, body) => {
    const init = { method: "POST", body, duplex: "half" } as unknown as RequestInit;
    expect(await statusAndSent([refused, ok], init)).toEqual([429, ["POST text"]]);
  });

  it("nor a stream that cannot be iterated, as in some browsers", async () => {
    const fetch = vi.fn(async () => refused());
    const body = { getReader() {} } as unknown as ReadableStream;
    expect((await fetchWithBackoff(URL_OF_API, { method: "POST", body }, { fetch })).status).toBe(429);
    expect(fetch).toHaveBeenCalledOnce();
  });

  it("nor the body of a Request, which is used by then; a Request without one is sent again", async () => {
    for (const [request, expected] of [
      [new Request(URL_OF_API, { method: "POST", body: "text" }), [429, ["POST text"]]],
      [new Request(URL_OF_API, { method: "POST" }), [200, ["POST", "POST"]]],
    ] as const) {
      const { options, sent } = scripted([refused, ok]);
      const { status } = await fetchWithBackoff(request, undefined, options);
      expect([status, sent]).toEqual(expected);
    }
  });
});

describe("after 503 with Retry-After, and after a failed connection, idempotent methods only", () => {
  it("which are sent again, and others are not", async () => {
    for (const method of ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"]) {
      for (const fault of [busy, failure]) {
        expect(await statusAndSent([fault, ok], { method })).toEqual([200, [method, method]]);
      }
    }
    expect(await statusAndSent([busy, ok], { method: "POST" })).toEqual([503, ["POST"]]);
    expect(await statusAndSent([failure, ok], { method: "PATCH" })).toEqual(["fetch failed", ["PATCH"]]);
  });

  it("the method of a Request counts, and init's before it", async () => {
    const post = new Request(URL_OF_API, { method: "POST" });
    const { options, sent } = scripted([busy, ok]);
    await fetchWithBackoff(post, undefined, options);
    expect(sent).toEqual(["POST"]);
    const put = await fetchWithBackoff(post, { method: "PUT" }, scripted([busy, ok]).options);
    expect(put.status).toBe(200);
  });

  it("waits 1 s and 2 s after failures, and reports the third", async () => {
    const { options, sent, waitsMs } = scripted([failure]);
    await expect(fetchWithBackoff(URL_OF_API, undefined, options)).rejects.toThrow("fetch failed");
    expect([sent.length, waitsMs]).toEqual([3, [1000, 2000]]);
  });

  it.each([
    ["500", answer(500, { "Retry-After": "1" })],
    ["503 without Retry-After", answer(503)],
    ["402, a policy's own refusal", answer(402, { "Retry-After": "5", RateLimit: '"api";r=0;t=5' })],
    ["302", answer(302, { "Retry-After": "1", Location: "/" })],
  ])("any other answer is the answer: %s", async (_what, one) => {
    expect((await statusAndSent([one, ok]))[1]).toHaveLength(1);
  });

  it("what is no URL is reported at once", async () => {
    const { options, sent } = scripted([ok]);
    await expect(fetchWithBackoff("http://", undefined, options)).rejects.toThrow(TypeError);
    expect(sent).toEqual([]);
  });
});

describe("gives up", () => {
  const PROBLEM = { "Content-Type": "application/problem+json" };

  it("at once when X-Should-Retry is false, and leaves the body to be read", async () => {
    const { options, sent, waitsMs } = scripted([answer(429, { "X-Should-Retry": "false" }, "slow down"), ok]);
    const response = await fetchWithBackoff(URL_OF_API, undefined, options);
    expect([response.status, await response.text(), sent.length, waitsMs]).toEqual([429, "slow down", 1, []]);
  });

  it.each([
    [429, "1", undefined, 1],
    [503, "1", undefined, 1],
    // headgate says false beside every longer wait, for clients without a budget.
    [429, "60", 600_000, 1],
    [429, "61", 600_000, 2],
  ])(
    "beside a wait too, unless the budget covers one above a minute: %i, %s s",
    async (status, wait, budgetMs, times) => {
      const { options, sent } = scripted([answer(status, { "X-Should-Retry": "false", "Retry-After": wait }), ok]);
      const timed = budgetMs === undefined ? options : { ...options, timeBudgetMs: budgetMs };
      await fetchWithBackoff(URL_OF_API, undefined, timed);
      expect(sent).toHaveLength(times);
    },
  );

  it("not when X-Should-Retry is true, nor for what a body says", async () => {
    for (const one of [answer(429, { "X-Should-Retry": "true" }), answer(429, PROBLEM, '{"retry":"never"}')]) {
      expect(await statusAndSent([one, ok])).toEqual([200, ["GET", "GET"]]);
    }
  });

  it.each([
    ["60", [60_000]],
    ["61", []],
    ["9".repeat(400), []],
  ])("without a wait when the wait would pass the time budget: %s s", async (seconds, waits) => {
    const { options, waitsMs } = scripted([answer(429, { "Retry-After": seconds }), ok], () => 0.99);
    await fetchWithBackoff(URL_OF_API, undefined, options);
    expect(waitsMs).toEqual(waits);
  });

  it("a header says a day at most; with a budget of more, the body's wait holds", async () => {
    const day = { "Retry-After": "86400" };
    for (const [body, waitMs] of [
      ['{"retryAfterMs":2592000000}', 2_592_000_000],
      ['{"retryAfterMs":1}', 86_400_000],
      ['{"retryAfterMs":{}}', 86_400_000],
      ["null", 86_400_000],
      ["no JSON", 86_400_000],
    ] as const) {
      const { options, waitsMs } = scripted([answer(429, day, body), ok]);
      const timeBudgetMs = Number.POSITIVE_INFINITY;
      const { status } = await fetchWithBackoff(URL_OF_API, undefined, { ...options, timeBudgetMs });
      expect([status, waitsMs]).toEqual([200, [waitMs]]);
    }
  });

  it.each([
    ["a budget of 0", { timeBudgetMs: 0 }, 1],
    ["NaN, which is no budget", { timeBudgetMs: Number.NaN }, 1],
    ["10 retries by default", {}, 11],
    ["no retries", { maxRetries: 0 }, 1],
  ])("after what it has: %s", async (_what, more, times) => {
    const { options, sent } = scripted([refused]);
    expect((await fetchWithBackoff(URL_OF_API, undefined, { ...options, ...more })).status).toBe(429);
    expect(sent).toHaveLength(times);
  });

  it("after refusals that tell no wait: it waits 1, 2, 4, 8 and 16 s, and then the budget of a minute is over", async () => {
    const { options, waitsMs } = scripted([answer(429)]);
    await fetchWithBackoff(URL_OF_API, undefined, options);
    expect(waitsMs).toEqual([1000, 2000, 4000, 8000, 16_000]);
  });

  it("a spread that would pass the budget stays inside of it", async () => {
    const { options, waitsMs } = scripted([refused, ok], () => 0.5);
    await fetchWithBackoff(URL_OF_API, undefined, { ...options, timeBudgetMs: 2000 });
    expect(waitsMs).toEqual([1500]);
  });
});

it("after longer refusal the spread is a third of the time that it took", async () => {
  const refusals = ["30", "1"].map((seconds) => answer(429, { "Retry-After": seconds }));
  const { options, waitsMs } = scripted([...refusals, ok], () => 0.5);
  await fetchWithBackoff(URL_OF_API, undefined, options);
  const firstMs = 30_000 + (5 * 3000) / 2;
  expect(waitsMs).toEqual([firstMs, expect.closeTo(1000 + firstMs / 3 / 2, 6)]);
});

it("cancels the body of a refusal that nobody reads", async () => {
  const cancel = vi.fn();
  const open = () => new Response(new ReadableStream({ cancel }), { status: 429, headers: { "Retry-After": "1" } });
  await statusAndSent([open, ok]);
  expect(cancel).toHaveBeenCalledOnce();
});

describe("an aborted signal", () => {
  const reason = new Error("changed my mind");

  it("ends a wait at once, and its reason is what is thrown", async () => {
    const controller = new AbortController();
    const fetch = async () => {
      setTimeout(() => controller.abort(reason), 10);
      return new Response(null, { status: 429, headers: { "Retry-After": "50" } });
    };
    const startedAt = performance.now();
    await expect(fetchWithBackoff(URL_OF_API, { signal: controller.signal }, { fetch })).rejects.toBe(reason);
    expect(performance.now() - startedAt).toBeLessThan(20_000);
  });

  it("of a Request counts as well, and init's stands over it", async () => {
    const request = new Request(URL_OF_API, { signal: AbortSignal.abort(reason) });
    const { options, sent } = scripted([ok]);
    await expect(fetchWithBackoff(request, undefined, options)).rejects.toBe(reason);
    expect(sent).toEqual([]);
    const open = { ...options, fetch: async () => new Response() };
    expect((await fetchWithBackoff(request, { signal: new AbortController().signal }, open)).status).toBe(200);
  });

  it("aborted before: nothing is sent; while connecting: not tried again", async () => {
    const { options, sent } = scripted([ok]);
    await expect(fetchWithBackoff(URL_OF_API, { signal: AbortSignal.abort(reason) }, options)).rejects.toBe(reason);
    expect(sent).toEqual([]);

    for (const method of ["GET", "POST"]) {
      const controller = new AbortController();
      const fetch = vi.fn(async () => {
        controller.abort(reason);
        throw new TypeError("fetch failed");
      });
      await expect(fetchWithBackoff(URL_OF_API, { method, signal: controller.signal }, { fetch })).rejects.toBe(reason);
      expect(fetch).toHaveBeenCalledOnce();
    }
  });
});
