// An origin for gateways: a real HTTP server on loopback that answers as a test says.

import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

export interface OriginServer {
  readonly url: string;
  /** Every request that arrived, in order. */
  readonly requests: readonly IncomingMessage[];
  readonly server: Server;
}

/** Starts an origin. @param stopAfter gets what closes it and all its connections; default: after the running test. */
export async function startOrigin(
  answer: (...exchange: Parameters<RequestListener>) => unknown,
  stopAfter: (stop: () => void) => void = onTestFinished,
): Promise<OriginServer> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    // A request that is still open when the test ends may fail: nobody reads its answer any more.
    const isOver = () => !server.listening || request.socket.destroyed;
    Promise.resolve(answer(request, response)).catch((error) => {
      if (!isOver()) throw error;
    });
  });
  // Node's default of 5 s closes idle connections that a gateway may be about to use.
  server.keepAliveTimeout = 120_000;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  stopAfter(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests, server };
}
