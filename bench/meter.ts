/**
 * How much later the first byte of a stream arrives with a meter: two gateways in workerd, one with a policy of tokens,
 * one with the same policy without a meter, in front of one provider and one Redis. They take turns.
 *
 *   npm run bench:meter
 *
 * Ends with status 1 if the medians differ by more than the target.
 */

import { once } from "node:events";
import { Agent, createServer, type IncomingMessage, request } from "node:http";
import type { AddressInfo } from "node:net";
import { startRedisServer } from "../scripts/machine/redis-server.ts";
import { startService } from "./support/service.ts";
import { median } from "./support/stats.ts";
import { bundleWorker, startWorkerd } from "./support/workerd.ts";

const TARGET_MS = 5;
const TURNS = 200;
/** The JIT compiler is at work in the first turns. */
const WARM_UP = 60;

const WORDS = ["the ", "model ", "answers ", "with ", "words, ", "and ", "numbers: ", "7 "];
/** English of this length. */
const english = (length: number) => {
  let text = "";
  for (let i = 0; text.length < length; i++) text += WORDS[(i * 5 + (i >> 3)) % WORDS.length];
  return text.slice(0, length);
};
/** Code and other scripts: every few bytes there is an escape, or a character of several bytes. */
const MIXED = 'if (a["b"] !== "c\\d") {\n\treturn `für 日本 🎉`;\n}\n';
const chat = (messages: readonly object[]) => JSON.stringify({ model: "m", stream: true, messages });
const user = (content: string) => ({ role: "user", content });
/** Bodies by what they are. */
const BODIES: Readonly<Record<string, string>> = {
  "2 KB": chat([user(english(2_000))]),
  "100 KB": chat([user(english(100_000))]),
  "1 MB, one message": chat([user(english(1_000_000))]),
  "1 MB, 4,000 messages": chat(Array.from({ length: 4_000 }, () => user(english(220)))),
  "1 MB of code, many escapes": chat([user(MIXED.repeat(14_500))]),
};

const EVENT = 'data: {"id":"c","choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":null}]}\n\n';
const END = 'data: {"choices":[],"usage":{"prompt_tokens":500,"completion_tokens":10}}\n\ndata: [DONE]\n\n';
/** Answers when it has the whole body. The rest of the stream comes later: only the first event is measured. */
const provider = createServer((incoming, response) => {
  incoming.resume().on("end", () => {
    response.writeHead(200, { "Content-Type": "text/event-stream" }).write(EVENT);
    setTimeout(() => response.end(EVENT.repeat(9) + END), 5);
  });
});
await new Promise<void>((resolve) => provider.listen(0, "127.0.0.1", resolve));

const redis = await startRedisServer();
const service = await startService(redis.url);
const code = await bundleWorker("gateway.mjs");
const gatewayWith = (name: string, meter: object) =>
  startWorkerd(code, {
    POLICIES: [{ name, key: ["global"], limits: [{ limit: 1_000_000_000, window: "1h" }], ...meter }],
    ORIGIN_URL: `http://127.0.0.1:${(provider.address() as AddressInfo).port}`,
    UPSTASH_REDIS_REST_URL: `${service.url}/${name}`,
    UPSTASH_REDIS_REST_TOKEN: service.token,
    REDIS_TIMEOUT_MS: 10_000,
  });
const gateways = [await gatewayWith("plain", {}), await gatewayWith("metered", { meter: { unit: "tokens" } })];
const agent = new Agent({ keepAlive: true });

/** @returns the ms from sending a request to the first byte of the answer's body. */
async function firstByteMs(port: number, body: Buffer): Promise<number> {
  const startedAt = performance.now();
  const outgoing = request({
    ...{ agent, host: "127.0.0.1", port, path: "/v1/chat/completions", method: "POST" },
    headers: { "Content-Type": "application/json", "Content-Length": body.length },
  });
  outgoing.end(body);
  const [answer] = (await once(outgoing, "response")) as [IncomingMessage];
  if (answer.statusCode !== 200) throw new Error(`bench: expected 200, found ${answer.statusCode}`);
  await once(answer, "readable");
  const ms = performance.now() - startedAt;
  answer.resume();
  await once(answer, "end");
  return ms;
}

try {
  console.log("| body | without a meter, ms | with a meter, ms | later by, ms |\n|---|---|---|---|");
  for (const [what, text] of Object.entries(BODIES)) {
    const body = Buffer.from(text);
    const turns: [number[], number[]] = [[], []];
    for (let turn = -WARM_UP; turn < TURNS; turn++) {
      for (const [i, { port }] of gateways.entries()) {
        const ms = await firstByteMs(port, body);
        if (turn >= 0) turns[i]!.push(ms);
      }
    }
    const [plain, metered] = turns.map(median) as [number, number];
    const figures = [plain, metered, metered - plain];
    console.log(`| ${what} | ${figures.map((ms) => ms.toFixed(2)).join(" | ")} |`);
    if (metered - plain > TARGET_MS) process.exitCode = 1;
  }
} finally {
  agent.destroy();
  for (const gateway of gateways) await gateway.stop();
  provider.close();
  provider.closeAllConnections();
  await service.stop();
  await redis.stop();
}
