// Answers that state what their requests have cost, over a real origin and a real Redis.

import { connect } from "node:net";
import { expect, it } from "vitest";
import { fieldsOf } from "../support/cases/fields.ts";
import { type Gateway, type GatewayOptions, startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { startOrigin } from "../support/gateway/origin-server.ts";

const LIMIT = 1_000;
const RESERVE = 10;

async function start(originUrl: string, cost: object = {}, options: Partial<GatewayOptions> = {}) {
  const name = uniqueName("stated");
  const gateway = await startGateway({
    policies: [
      {
        ...{ name, key: ["ip"], cost: { answer: "X-Cost", reserve: RESERVE, ...cost } },
        limits: [{ algorithm: "fixed-window", limit: LIMIT, window: "31d" }],
      },
    ],
    ...options,
    vars: { ORIGIN_URL: originUrl, ...options.vars },
  });
  /** What was counted before a request that costs nothing in the end. */
  async function used(): Promise<number> {
    const answer = await gateway.fetch("/200/0");
    await answer.text();
    return LIMIT - RESERVE - Number(fieldsOf(answer).states?.[name]?.r);
  }
  return { gateway, used };
}

async function ask(gateway: Gateway, path: string): Promise<Response> {
  const answer = await gateway.fetch(path);
  await answer.text();
  return answer;
}

const doubts = ({ logs }: Gateway) =>
  logs.filter((line) => line.includes('"stated-cost"')).map((line) => /"problem":"([^"]*)"/.exec(line)![1]);

it("a header that stays; an origin that hangs up; one that is too late", async () => {
  const origin = await startOrigin(({ url, socket }, response) => {
    if (url === "/hangs-up") socket.destroy();
    else if (url !== "/late") response.writeHead(200, { "X-Cost": url!.slice(5) }).end();
  });
  const { gateway, used } = await start(origin.url, { keep: true }, { vars: { ORIGIN_TIMEOUT_MS: 200 } });
  expect((await ask(gateway, "/200/5")).headers.get("X-Cost")).toBe("5");
  expect((await ask(gateway, "/hangs-up")).status).toBe(502);
  expect((await ask(gateway, "/late")).status).toBe(504);
  await expect.poll(used, { timeout: 20_000 }).toBe(5 + RESERVE + RESERVE);
  expect(doubts(gateway)).toEqual(["no answer", "no answer"]);
});

it("a client that leaves: its cost is read when the origin answers", async () => {
  let answer: (() => void) | undefined;
  let isAborted = false;
  const origin = await startOrigin(({ url, socket }, response) => {
    if (url !== "/slow") return response.writeHead(200, { "X-Cost": "0" }).end();
    socket.once("close", () => {
      isAborted ||= !response.headersSent;
    });
    answer = () => response.writeHead(200, { "X-Cost": "77" }).end("done");
  });
  const { gateway, used } = await start(origin.url);
  const client = connect(Number(gateway.url.port), gateway.url.hostname);
  client.write("GET /slow HTTP/1.1\r\nHost: a\r\nCF-Connecting-IP: 192.0.2.1\r\n\r\n");
  await expect.poll(() => answer !== undefined, { timeout: 20_000 }).toBe(true);
  client.resetAndDestroy();
  expect(await used()).toBe(RESERVE);
  answer!();
  await expect.poll(used, { timeout: 20_000 }).toBe(77);
  expect([isAborted, doubts(gateway)]).toEqual([false, []]);
});
