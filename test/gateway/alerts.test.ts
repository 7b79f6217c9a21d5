// Warnings from two isolates of a gateway over one Redis to one webhook: real workerd, real sockets, a real secret.
// test/features/alerts and test/worker/alerts.test.ts have the cases one by one.

import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, inject, it, onTestFinished, vi } from "vitest";
import type { LimitWarning } from "../../src/kernel/limiter/on-warning.ts";
import { uniqueName } from "../support/gateway/gateway.ts";
import { startOrigin } from "../support/gateway/origin-server.ts";
import { startWorkerd, type WorkerdWorker } from "../support/gateway/workerd.ts";

const SECRET = "a secret of thirty-two characters";
const settled = { timeout: 20_000, interval: 50 };

/** A webhook that fails once, and notes what it gets. */
async function startWebhook() {
  const got: { readonly delivery: string; readonly isSigned: boolean; readonly warnings: LimitWarning[] }[] = [];
  const { url } = await startOrigin(async (request, response) => {
    const body = await text(request);
    const [, t, v1] = /^t=(\d+),v1=(\w+)$/.exec(request.headers["headgate-signature"] as string) ?? [];
    const isSigned = v1 === createHmac("sha256", SECRET).update(`${t}.${body}`).digest("hex");
    got.push({ delivery: request.headers["headgate-delivery"] as string, isSigned, ...JSON.parse(body) });
    response.writeHead(got.length === 1 ? 500 : 200).end();
  });
  return { got, url: `${url}/hook` };
}

it("one warning for each client and part, whichever isolates have seen it; signed, and again after a failure", async () => {
  const { got, url } = await startWebhook();
  const name = uniqueName("api").slice(0, 32);
  const policies = [{ name, key: ["header:x-user"], limits: [{ limit: 10, window: "31d" }], warn: [0.8, 1] }];
  const worker = (name: string, stats: true | string): WorkerdWorker => ({
    ...{ name, stats, code: readFileSync(join(inject("workerDirectory"), "worker.js"), "utf8") },
    bindings: {
      ...{ POLICIES: policies, REDIS_TIMEOUT_MS: 10_000, ALERT_URL: url, ALERT_SECRET: SECRET },
      ...{ UPSTASH_REDIS_REST_URL: inject("restUrl"), UPSTASH_REDIS_REST_TOKEN: inject("restToken") },
    },
  });
  const logs: string[] = [];
  const { ports, stop } = await startWorkerd([worker("a", true), worker("b", "a")], {
    onLog: (message) => logs.push(message),
  });
  onTestFinished(stop);
  const ask = async (isolate: string, user: string) => {
    const answer = await fetch(`http://127.0.0.1:${ports[isolate]}/`, { headers: { "x-user": user } });
    await answer.arrayBuffer();
    return answer.status;
  };
  // Both isolates see that ann has used 80 %, and 100 %.
  const statuses = [];
  for (let i = 0; i < 12; i++) statuses.push(await ask(i % 2 === 0 ? "a" : "b", "ann"));
  expect(statuses.filter((status) => status === 429)).toHaveLength(2);
  for (let i = 0; i < 9; i++) await ask("b", "bob");

  // The first try has failed: the second has the same id and the same content.
  const delivered = () => got.slice(1).flatMap(({ warnings }) => warnings);
  await vi.waitFor(() => expect(delivered().length).toBeGreaterThanOrEqual(3), settled);
  expect(got[1]).toEqual(got[0]);
  expect(got.every(({ isSigned }) => isSigned)).toBe(true);
  // Whoever tells STATS first may have seen a later request than the one that has crossed.
  for (const { part, used } of delivered()) expect(used).toBeGreaterThanOrEqual(part * 10);
  const ann = delivered().find(({ part }) => part === 1)!.key;
  const told = delivered().map(({ key, part }) => `${key === ann ? "ann" : "bob"} ${part}`);
  expect(told.sort()).toEqual(["ann 0.8", "ann 1", "bob 0.8"]);
  expect(delivered()[0]).toMatchObject({
    ...{ policy: name, id: name, kind: "header:x-user", limit: 10, key: expect.stringMatching(/^[\w-]{22}$/) },
    ...{ resetAfterMs: expect.any(Number), at: expect.stringMatching(/^\d{4}-.*Z$/) },
  });
  expect(JSON.stringify([got, logs])).not.toMatch(/"ann"|"bob"/);
});
