/**
 * Passes requests on to the gateway, and counts its refusals by the header `X-Client`. It works with every HTTP client.
 */

import { Agent, createServer, request as send } from "node:http";
import type { AddressInfo } from "node:net";

export interface Forwarder {
  readonly url: URL;
  /** How many requests with this key were answered with 429. */
  refusals(key: string): number;
  close(): Promise<void>;
}

export async function countRefusals(port: number): Promise<Forwarder> {
  const refusals = new Map<string, number>();
  const agent = new Agent({ keepAlive: true });
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
