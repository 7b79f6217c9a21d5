/** HTTP clients that try again, configured as their documentation shows, with enough retries for 20 calls at once. */

import { createServer, Agent as HttpAgent, request as send } from "node:http";
import type { AddressInfo } from "node:net";
import axios from "axios";
import axiosRetry from "axios-retry";
import got from "got";
import ky from "ky";
import { Agent, interceptors, RetryAgent, request } from "undici";
import { createBackoff, fetchWithBackoff } from "../../src/client/index.ts";

interface BenchClient {
  /** Resolves when a request was admitted and its answer has been read. */
  call(): Promise<unknown>;
  close?(): Promise<void>;
}

const RETRIES = 100;

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

interface Forwarder {
  readonly url: URL;
  /** How many requests with this key were answered with 429. */
  refusals(key: string): number;
  close(): Promise<void>;
}

/**
 * Passes requests on to the gateway, and counts its refusals by the header `X-Client`. It works with every HTTP client.
 */
export async function countRefusals(port: number): Promise<Forwarder> {
  const refusals = new Map<string, number>();
  const agent = new HttpAgent({ keepAlive: true });
  const server = createServer((request, response) => {
    const key = String(request.headers["x-client"]);
    const { method, url: path, headers } = request;
    const forwarded = send({ host: "127.0.0.1", port, method, path, headers, agent }, (answer) => {
      const { statusCode = 502 } = answer;
      if (statusCode === 429) refusals.set(key, (refusals.get(key) ?? 0) + 1);
      response.writeHead(statusCode, answer.headers);
      answer.pipe(response);
    });
    forwarded.on("error", () => response.destroy());
    request.pipe(forwarded);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    refusals: (key) => refusals.get(key) ?? 0,
    async close() {
      agent.destroy();
      server.close();
      server.closeAllConnections();
    },
  };
}
