// HTTP clients that try again by themselves, against a limited gateway. Each is configured as its documentation shows.
// The gateway sends every field it can (RATE_LIMIT_HEADERS = "both"), so each client may choose the field that it uses.

import { Octokit } from "@octokit/core";
import { throttling } from "@octokit/plugin-throttling";
import axios from "axios";
import axiosRetry from "axios-retry";
import got from "got";
import { Hono } from "hono";
import ky from "ky";
import { Agent, RetryAgent } from "undici";
import { expect, it, onTestFinished, vi } from "vitest";
import { rateLimit } from "../../src/adapters/hono.ts";
import { memoryStore } from "../../src/kernel/store/memory.ts";
import { createLimiter } from "../../src/limiter.ts";
import { startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { startOrigin } from "../support/gateway/origin-server.ts";
import { type Exchange, watchExchanges } from "./exchanges.ts";

/** Timers count whole milliseconds. Measured by a finer clock, a timer may fire almost 1 ms early. */
const TIMER_GRAIN_MS = 1;

/** A gateway that admits 2 requests per 2 s. It refuses the third request in a row, for 1 to 3 s. */
async function startLimited() {
  const origin = await startOrigin((_request, response) => response.end("hello"));
  const gateway = await startGateway({
    policies: [{ name: uniqueName("client"), key: ["global"], limits: [{ limit: 2, window: "2s" }] }],
    vars: { ORIGIN_URL: origin.url },
  });
  return { url: gateway.url, origin, exchanges: watchExchanges(gateway.url) };
}

/** The third request was refused once and then admitted. The wait was long enough, and one wait was enough. */
function expectOneWait(exchanges: readonly Exchange[]): void {
  expect(exchanges.map(({ status }) => status)).toEqual([200, 200, 429, 200]);
  const [refused, admitted] = exchanges.slice(-2) as [Exchange, Exchange];
  expect(refused.retryAfter).toBeGreaterThanOrEqual(1);
  const waitedMs = admitted.sentAtMs - refused.answeredAtMs!;
  expect(waitedMs).toBeGreaterThanOrEqual(refused.retryAfter! * 1000 - TIMER_GRAIN_MS);
}

it("ky waits for Retry-After, and then succeeds", async () => {
  const { url, origin, exchanges } = await startLimited();

  for (let i = 0; i < 3; i++) expect(await ky.get(url).text()).toBe("hello");

  expectOneWait(exchanges);
  expect(origin.requests.length).toBe(3);
});

it("got waits for Retry-After, and then succeeds", async () => {
  const { url, origin, exchanges } = await startLimited();

  for (let i = 0; i < 3; i++) expect(await got(url).text()).toBe("hello");

  expectOneWait(exchanges);
  expect(origin.requests.length).toBe(3);
});

it.each([
  ["its default delay", {}],
  ["exponential delay", { retryDelay: axiosRetry.exponentialDelay }],
])("axios with axios-retry and %s waits for Retry-After, and then succeeds", async (_name, options) => {
  const { url, origin, exchanges } = await startLimited();
  const client = axios.create();
  axiosRetry(client, { retries: 3, ...options });

  for (let i = 0; i < 3; i++) expect((await client.get(url.href)).data).toBe("hello");

  expectOneWait(exchanges);
  expect(origin.requests.length).toBe(3);
});

it("undici's RetryAgent waits for Retry-After, and then succeeds", async () => {
  const { url, origin, exchanges } = await startLimited();
  const agent = new RetryAgent(new Agent());
  onTestFinished(() => agent.close());

  for (let i = 0; i < 3; i++) {
    const { statusCode, body } = await agent.request({ method: "GET", origin: url.origin, path: "/" });
    expect([statusCode, await body.text()]).toEqual([200, "hello"]);
  }

  expectOneWait(exchanges);
  expect(origin.requests.length).toBe(3);
});

it("octokit with its throttling plugin waits until X-RateLimit-Reset, as X-RateLimit-Remaining is 0, and then succeeds", async () => {
  const { url, origin, exchanges } = await startLimited();
  const asked: string[] = [];
  const ThrottledOctokit = Octokit.plugin(throttling);
  const octokit = new ThrottledOctokit({
    baseUrl: url.origin,
    throttle: {
      onRateLimit: (_retryAfter, _options, _octokit, retryCount) => {
        asked.push("rate limit");
        return retryCount < 1;
      },
      // Octokit would call this if the message contained "secondary rate". It would wait a minute unless Retry-After
      // says less.
      onSecondaryRateLimit: () => void asked.push("secondary rate limit"),
    },
  });

  for (let i = 0; i < 3; i++) expect((await octokit.request("GET /")).status).toBe(200);

  expect(asked).toEqual(["rate limit"]);
  expectOneWait(exchanges);
  expect(origin.requests.length).toBe(3);
});

it("octokit, refused for 1.3 s at any moment of a second, waits 3 s mostly: X-RateLimit-Reset is rounded up once", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const ThrottledOctokit = Octokit.plugin(throttling);
  const waits: number[] = [];
  const retryAfters: (string | null)[] = [];
  for (let fractionMs = 50; fractionMs < 1_000; fractionMs += 100) {
    // A window ends at a multiple of its length. This one ends 1.3 s after an instant with this fraction of a second.
    const windowMs = 3_600_000 + fractionMs + 1_300;
    vi.setSystemTime(windowMs * 500_001 - 1_300);
    const limits = [{ algorithm: "fixed-window" as const, limit: 1, window: `${windowMs}ms` as const }];
    const limiter = createLimiter({ policies: [{ name: "hour", key: "global", limits }], store: memoryStore() });
    const app = new Hono().use(rateLimit(limiter)).get("/", (c) => c.text("hello"));
    const fetch = async (url: string) => {
      const answer = await app.request(url);
      retryAfters.push(answer.headers.get("Retry-After"));
      return answer;
    };
    const onRateLimit = (seconds: number) => void waits.push(seconds);
    const octokit = new ThrottledOctokit({
      request: { fetch },
      throttle: { onRateLimit, onSecondaryRateLimit: () => {} },
    });
    await octokit.request("GET /");
    await expect(octokit.request("GET /")).rejects.toMatchObject({ status: 429 });
  }
  expect(new Set(retryAfters)).toEqual(new Set([null, "2"]));
  // Octokit rounds up too, and then adds one second.
  expect(waits).toEqual([3, 3, 3, 3, 3, 3, 3, 4, 4, 4]);
});
