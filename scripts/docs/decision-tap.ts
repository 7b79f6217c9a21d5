/**
 * A proxy between a gateway and its REST service that records the instant of every decision, as the script replied it.
 */

import { once } from "node:events";
import { Agent, createServer, type IncomingMessage, request as send } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** One decision about one policy. */
export interface TappedDecision {
  readonly policy: string;
  /** The instant by Redis's clock, in ms since the epoch. */
  readonly nowMs: number;
}

interface DecisionTap {
  readonly url: string;
  /** The decisions in the order of their replies. */
  readonly decisions: readonly TappedDecision[];
  close(): Promise<void>;
}

/** @param restUrl base URL of the REST service; plain HTTP. */
export async function startDecisionTap(restUrl: string): Promise<DecisionTap> {
  const decisions: TappedDecision[] = [];
  const agent = new Agent({ keepAlive: true });

  async function pass(request: IncomingMessage): Promise<[status: number, body: string]> {
    const body = await text(request);
    const { authorization = "" } = request.headers;
    const length = Buffer.byteLength(body);
    const outgoing = send(new URL(request.url ?? "/", restUrl), {
      method: "POST",
      agent,
      headers: { Authorization: authorization, "Content-Length": length },
    });
    outgoing.end(body);
    const [answer] = (await once(outgoing, "response")) as [IncomingMessage];
    const reply = await text(answer);
    // The first key's braces hold the policy: hg:2:{<policy>:<partition>}.
    const policy = /\{([a-z0-9-]+):/.exec(body)?.[1];
    const { result } = JSON.parse(reply) as { result?: unknown };
    if (policy !== undefined && Array.isArray(result)) {
      const [nowMs] = result as number[];
      decisions.push({ policy, nowMs: nowMs! });
    }
    return [answer.statusCode ?? 500, reply];
  }

  const server = createServer((request, response) => {
    pass(request).then(
      ([status, body]) => response.writeHead(status, { "Content-Type": "application/json" }).end(body),
      () => response.writeHead(500).end(),
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    decisions,
    async close() {
      agent.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
