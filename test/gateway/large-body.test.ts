// Bodies that are far larger than workerd's memory limit pass through.

import { once } from "node:events";
import { readFileSync } from "node:fs";
import { get, request as httpRequest, type IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { partOf } from "../support/cases/draws.ts";
import { type Gateway, startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { startOrigin } from "../support/gateway/origin-server.ts";

/** The most that workerd's peak memory may grow, for a body of any size. */
const BUDGET_MIB = 32;

/** A body of which twice the budget may never be kept is large enough. `npm run test:long` sends the whole size. */
const mibOf = (mib: number) => Math.max(2 * BUDGET_MIB, partOf(mib));

const MIB = 1024 * 1024;

/** A body of this size that is made while it is read. */
function* chunks(bytes: number): Generator<Buffer> {
  const chunk = Buffer.alloc(MIB, "headgate");
  for (let sent = 0; sent < bytes; sent += chunk.length) yield chunk;
}

async function length(message: IncomingMessage): Promise<number> {
  let sum = 0;
  message.on("data", (chunk: Buffer) => {
    sum += chunk.length;
  });
  await once(message, "end");
  return sum;
}

/** The highest peak of the gateway's resident memory, in MiB. */
function peakMib({ pid }: Gateway): number {
  return Number(/^VmHWM:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]) / 1024;
}

describe.skipIf(process.platform !== "linux")("bodies up and down", () => {
  it.each([
    [
      `${mibOf(256)} MiB under a concurrency limit, which watches for their end`,
      mibOf(256),
      {
        limits: [
          { algorithm: "concurrency", limit: 10 },
          { limit: 10, window: "1h" },
        ],
      },
    ],
    // Its begin is read from a copy.
    ["64 MiB under a meter", 64, { meter: { unit: "tokens" }, limits: [{ limit: 1e9, window: "1h" }] }],
  ])("stream in bounded memory: %s", async (_, mib, rules) => {
    const bytes = mib * MIB;
    const origin = await startOrigin(async (request, response) => {
      if (request.method === "GET") Readable.from(chunks(bytes)).pipe(response);
      else response.end(String(await length(request)));
    });
    const policies = [{ name: uniqueName("large"), key: ["ip"], ...rules }];
    const gateway = await startGateway({ policies, vars: { ORIGIN_URL: origin.url } });
    await gateway.fetch("/", { method: "POST", body: "warm-up" });
    const before = peakMib(gateway);
    expect(before).toBeGreaterThan(0);

    const [download] = (await once(get(gateway.url), "response")) as [IncomingMessage];
    expect(await length(download)).toBe(bytes);
    const upload = httpRequest(gateway.url, { method: "POST" });
    Readable.from(chunks(bytes)).pipe(upload);
    const [received] = (await once(upload, "response")) as [IncomingMessage];
    expect(await text(received)).toBe(String(bytes));

    const rise = peakMib(gateway) - before;
    console.log(`workerd's peak rose by ${rise.toFixed(1)} MiB for ${mib} MiB each way`);
    expect(rise).toBeLessThan(BUDGET_MIB);
  });
});
