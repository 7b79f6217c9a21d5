// A gateway with metered policies in front of the mock provider, and what Redis itself counts.

import { request as httpRequest } from "node:http";
import { decodeMulti } from "@msgpack/msgpack";
import { Redis } from "ioredis";
import { afterAll, beforeAll, inject, onTestFinished } from "vitest";
import { type Gateway, type GatewayOptions, startGateway } from "../gateway/gateway.ts";
import { startOrigin } from "../gateway/origin-server.ts";
import { recordsIn } from "../redis/records-codec.ts";
import { type Clients, clientsOf } from "./clients.ts";
import { type MockProvider, startMockProvider } from "./mock-provider.ts";

export interface MeteredGateway extends Clients {
  readonly gateway: Gateway;
  readonly provider: MockProvider;
  readonly redis: Redis;
  /** The units that Redis counts under a policy with the key `global`: one number for each limit that counts units. */
  counted(policy: string): Promise<number[]>;
  /** Requests to the REST service since the last time this was read. */
  storeCalls(): number;
}

type MeteredGatewayOptions = Omit<GatewayOptions, "redis">;

/**
 * Starts it for the running test.
 *
 * @param stopAfter gets what stops a gateway for several tests.
 */
export async function startMeteredGateway(
  options: MeteredGatewayOptions,
  stopAfter: (stop: () => unknown) => void = (stop) => onTestFinished(async () => void (await stop())),
): Promise<MeteredGateway> {
  const { vars, ...rest } = options;
  const provider = await startMockProvider();
  stopAfter(() => provider.close());
  const redis = new Redis(inject("redisUrl"), { disableClientInfo: true });
  stopAfter(() => redis.disconnect());
  let calls = 0;
  const bridge = await startOrigin((request, response) => {
    calls++;
    const target = new URL(request.url!, inject("restUrl"));
    const outgoing = httpRequest(target, { method: request.method, headers: request.headers }, (reply) => {
      response.writeHead(reply.statusCode!, reply.headers);
      reply.pipe(response);
    });
    request.pipe(outgoing);
  }, stopAfter);
  const gateway = await startGateway(
    {
      ...rest,
      redis: { url: bridge.url, token: inject("restToken") },
      vars: { ORIGIN_URL: provider.url, ...vars },
    },
    stopAfter,
  );
  return {
    gateway,
    provider,
    redis,
    ...clientsOf(gateway.url.href),
    counted: async (policy) => [...(await unitsIn(redis, policy)).values()].flat(),
    storeCalls() {
      const sum = calls;
      calls = 0;
      return sum;
    },
  };
}

/** Starts it for all tests of a file. @returns what gives it to a test. */
export function meteredForAll(options: MeteredGatewayOptions): () => MeteredGateway {
  let metered: MeteredGateway;
  const stops: (() => unknown)[] = [];
  beforeAll(async () => {
    metered = await startMeteredGateway(options, (stop) => stops.push(stop));
  });
  afterAll(async () => {
    for (const stop of stops.reverse()) await stop();
  });
  return () => metered;
}

/** The units that Redis counts under each key of a policy: one number for each limit that counts units. */
export async function unitsIn(redis: Redis, policy: string): Promise<Map<string, number[]>> {
  const keys = (await redis.keys(`hg:2:{${policy}:*`)).filter((key) => !key.includes("#"));
  const rows = await Promise.all(keys.map((key) => redis.getBuffer(key)));
  // A key that got everything back expires at once, perhaps since its name was read.
  const unitsOfRow = (row: Buffer | null) => (row ? recordsIn([...decodeMulti(row)]).map(unitsOf) : []);
  return new Map(keys.map((key, i) => [key, unitsOfRow(rows[i]!)]));
}

function unitsOf(record: ReturnType<typeof recordsIn>[number]): number {
  if ("counts" in record) return record.counts.reduce((sum, count) => sum + count, 0);
  if ("count" in record) return record.count;
  throw new Error("expected a window");
}
