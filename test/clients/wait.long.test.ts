// HTTP clients that try again by themselves, against a limited gateway. Each is configured as its documentation shows.
// The gateway sends every field it can (RATE_LIMIT_HEADERS = "both"), so each client may choose the field that it uses.

import { Octokit } from "@octokit/core";
import { throttling } from "@octokit/plugin-throttling";
import axios from "axios";
import axiosRetry from "axios-retry";
import got from "got";
import ky from "ky";
import { expect, it } from "vitest";
import { startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { startOrigin } from "../support/gateway/origin-server.ts";

/** Timers count whole milliseconds. Measured by a finer clock, a timer may fire almost 1 ms early. */
const TIMER_GRAIN_MS = 1;

/** One request on the wire, and its answer. A client that tries again makes several per call. Times: in ms. */
interface Exchange {
  readonly sentAtMs: number;
  readonly answeredAtMs: number;
  readonly status: number;
  /** In whole seconds. */
  readonly retryAfter: number;
}

/** A gateway that admits 2 requests per 2 s. It refuses the third request in a row, for 1 to 3 s. */
async function startLimited() {
  const origin = await startOrigin((_request, response) => response.end("hello"));
  const gateway = await startGateway({
    policies: [{ name: uniqueName("client"), key: ["global"], limits: [{ limit: 2, window: "2s" }] }],
    vars: { ORIGIN_URL: origin.url },
  });
  // Between client and gateway: whichever client it is, this sees what it does.
  const exchanges: Exchange[] = [];
  const wire = await startOrigin(async (_request, response) => {
    const sentAtMs = performance.now();
    const { status, headers, body } = await gateway.fetch("/");
    const bytes = Buffer.from(await new Response(body).arrayBuffer());
    exchanges.push({
      sentAtMs,
      answeredAtMs: performance.now(),
      status,
      retryAfter: Number(headers.get("Retry-After")),
    });
    response.writeHead(status, Object.fromEntries(headers)).end(bytes);
  });
  return { url: new URL(wire.url), origin, exchanges };
}

/** The third request was refused once and then admitted. The wait was long enough, and one wait was enough. */
function expectOneWait(exchanges: readonly Exchange[]): void {
  expect(exchanges.map(({ status }) => status)).toEqual([200, 200, 429, 200]);
  const [refused, admitted] = exchanges.slice(-2) as [Exchange, Exchange];
  expect(refused.retryAfter).toBeGreaterThanOrEqual(1);
  const waitedMs = admitted.sentAtMs - refused.answeredAtMs;
  expect(waitedMs).toBeGreaterThanOrEqual(refused.retryAfter * 1000 - TIMER_GRAIN_MS);
}

/** Each reads "hello" once, and waits and tries again by itself. */
const CLIENTS: readonly (readonly [name: string, make: () => (url: URL) => Promise<string>])[] = [
  ["ky", () => (url) => ky.get(url).text()],
  ["got", () => (url) => got(url).text()],
  ["axios with axios-retry", () => withAxios()],
];

function withAxios(): (url: URL) => Promise<string> {
  const client = axios.create();
  axiosRetry(client, { retries: 3 });
  return async (url) => (await client.get(url.href)).data;
}

it.each(CLIENTS)("%s waits for Retry-After, and then succeeds", async (_, make) => {
  const { url, origin, exchanges } = await startLimited();
  const read = make();
  for (let i = 0; i < 3; i++) expect(await read(url)).toBe("hello");
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
