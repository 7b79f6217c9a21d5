// An origin for gateways: a real HTTP server on loopback that does what a test says.

import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

export interface OriginServer {
  readonly url: string;
  /** Every request that arrived, in order. */
  readonly requests: readonly IncomingMessage[];
  readonly server: Server;
}

/** Starts an origin for the test that runs, and closes it with all its connections after that. */
export async function startOrigin(
  answer: (...exchange: Parameters<RequestListener>) => unknown,
): Promise<OriginServer> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    // What was asked for when the test ended has nobody left to answer, and perhaps nobody behind it any more.
    const isOver = () => !server.listening || request.socket.destroyed;
    Promise.resolve(answer(request, response)).catch((error) => {
      if (!isOver()) throw error;
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests, server };
}
