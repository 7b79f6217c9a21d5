/** HTTP clients that try again, configured as their documentation shows, with enough retries for 20 calls at once. */

import { setTimeout as sleep } from "node:timers/promises";
import axios from "axios";
import axiosRetry from "axios-retry";
import got from "got";
import ky from "ky";
import { Agent, interceptors, RetryAgent, request } from "undici";
import { createBackoff, fetchWithBackoff } from "../../src/client/index.ts";

export interface BenchClient {
  /** Resolves when a request was admitted and its answer has been read. */
  call(): Promise<unknown>;
  close?(): Promise<void>;
}

const RETRIES = 100;
/** The loop that many programs write by hand: it waits exactly `Retry-After`. */
export const NAIVE = "naive loop";

async function read(response: Response): Promise<void> {
  await response.text();
  if (!response.ok) throw new Error(`expected to be admitted in the end, found ${response.status}`);
}

/** The clients by name. The names of headgate's clients are in backticks. The gateway knows each client by its key. */
export const CLIENTS: Readonly<Record<string, (url: URL, key: string) => BenchClient>> = {
  "`createBackoff`": (url, key) => {
    const api = createBackoff();
    return { call: async () => read(await api(url, { headers: { "X-Client": key } })) };
  },
  "`fetchWithBackoff`": (url, key) => ({
    call: async () => read(await fetchWithBackoff(url, { headers: { "X-Client": key } })),
  }),
  [NAIVE]: (url, key) => ({
    async call() {
      for (;;) {
        const response = await fetch(url, { headers: { "X-Client": key } });
        if (response.status !== 429) return await read(response);
        await response.body?.cancel();
        await sleep(Number(response.headers.get("Retry-After")) * 1000);
      }
    },
  }),
  got: (url, key) => ({
    call: () => got(url, { headers: { "X-Client": key }, retry: { limit: RETRIES } }).text(),
  }),
  ky: (url, key) => ({
    call: () => ky.get(url, { headers: { "X-Client": key }, retry: { limit: RETRIES }, timeout: false }).text(),
  }),
  "undici RetryAgent": (url, key) => {
    const agent = new RetryAgent(new Agent(), { maxRetries: RETRIES });
    return {
      async call() {
        const { body } = await agent.request({
          method: "GET",
          origin: url.origin,
          path: url.pathname,
          headers: { "X-Client": key },
        });
        await body.text();
      },
      close: () => agent.close(),
    };
  },
  "undici interceptor": (url, key) => {
    const dispatcher = new Agent().compose(interceptors.retry({ maxRetries: RETRIES }));
    return {
      async call() {
        const { body } = await request(url, { dispatcher, headers: { "X-Client": key } });
        await body.text();
      },
      close: () => dispatcher.close(),
    };
  },
  "axios-retry": axiosWith({}),
  "axios-retry, exponential": axiosWith({ retryDelay: axiosRetry.exponentialDelay }),
};

function axiosWith(options: Parameters<typeof axiosRetry>[1]) {
  return (url: URL, key: string): BenchClient => {
    const client = axios.create({ headers: { "X-Client": key } });
    axiosRetry(client, { retries: RETRIES, ...options });
    return { call: () => client.get(url.href) };
  };
}
