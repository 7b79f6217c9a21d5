// One Redis over REST: one attempt, within the time budget. An error shows only the kind of failure.

import { text } from "node:stream/consumers";
import { expect, inject, it } from "vitest";
import { type Commands, type RedisClient, RedisError } from "../../src/kernel/store/redis/client.ts";
import { replyOf, restClient } from "../../src/kernel/store/redis/rest.ts";
import { leaksIn } from "../support/gateway/leaks.ts";
import { startOrigin } from "../support/gateway/origin-server.ts";

type RestOptions = Parameters<typeof restClient>[0];
const live = (): RestOptions => ({ url: inject("restUrl"), token: inject("restToken"), timeoutMs: 30_000 });

async function failureOf(options: RestOptions, work: Parameters<RedisClient["run"]>[0]): Promise<RedisError> {
  const error: unknown = await restClient(options)
    .run(work)
    .catch((error) => error);
  if (!(error instanceof RedisError)) throw new Error("expected a RedisError, found another outcome");
  return error;
}

it("hands on what the work returns, and texts as they are: no base64, no JSON", async () => {
  expect(await restClient(live()).run(async () => 7)).toBe(7);
  expect(await restClient(live()).run((redis) => redis.eval("return ARGV[1]", [], ['{"a":1}']))).toBe('{"a":1}');
});

it("sends one request with nothing but the token and the command", async () => {
  const { url, requests } = await startOrigin((_request, response) => response.end('{"result":"PONG"}'));
  await restClient({ url, token: "secret", timeoutMs: 30_000 }).run((redis) => redis.ping());
  expect(requests).toHaveLength(1);
  const { authorization, ...headers } = requests[0]!.headers;
  expect(authorization).toBe("Bearer secret");
  expect(Object.keys(headers).filter((name) => name.startsWith("upstash"))).toEqual([]);
});

it("has the first word of Redis's refusal, and nothing of the command", async () => {
  const error = await failureOf(live(), (redis) => redis.eval("return redis.error_reply('BUSYKEY x')", ["a-key"], []));
  expect({ code: error.code, reply: error.reply }).toEqual({ code: "REPLY", reply: "BUSYKEY" });
  expect(error.message).toBe("redis: REPLY BUSYKEY");
  expect(leaksIn(error, ["a-key", "error_reply", inject("restToken")])).toEqual([]);
});

it("is a timeout as soon as the time is up, whatever the work does with the failure", async () => {
  const { url } = await startOrigin(() => {});
  const work = async (redis: Commands) => {
    await redis.ping().catch(() => {
      throw new Error("something else");
    });
  };
  expect((await failureOf({ url, token: "t", timeoutMs: 50 }, work)).code).toBe("TIMEOUT");
  // It may be given less time than its client has.
  const hurried = restClient({ url, token: "t", timeoutMs: 30_000 }).run(work, 20);
  await expect(hurried).rejects.toMatchObject({ code: "TIMEOUT" });
});

it.each([
  ["hands on an answer", 200, '{"result":"PONG"}', "PONG"],
  ["reports nothing of a refusal", 400, '{"error":"READONLY a-key"}', undefined],
])("%s that arrives too late", async (_what, status, body, late) => {
  const outOfTime = Promise.withResolvers<void>();
  const { url } = await startOrigin(async (_request, response) => {
    await outOfTime.promise;
    response.writeHead(status).end(body);
  });
  const error = await failureOf({ url, token: "t", timeoutMs: 20 }, (redis) => redis.ping());
  outOfTime.resolve();
  expect(error.code).toBe("TIMEOUT");
  expect(await error.timeout!.answer).toBe(late);
});

it("gives up a request that has no answer 2 s after its time, and no other request of the same client", async () => {
  const closed = Promise.withResolvers<void>();
  const { url } = await startOrigin(async (request, response) => {
    request.socket.on("close", () => closed.resolve());
    if ((await text(request)) !== '["ping"]') return;
    await closed.promise;
    response.end('{"result":"PONG"}');
  });
  const client = restClient({ url, token: "t", timeoutMs: 20 });
  const lost = client.run((redis) => redis.eval("lost", [], [])).catch((error) => error);
  const held = client.run((redis) => redis.ping(), 30_000);
  const error = (await lost) as RedisError;
  expect(error.code).toBe("TIMEOUT");
  expect(await error.timeout!.answer).toBeUndefined();
  expect(await held).toBe("PONG");
});

it("reads no reply out of anything that Redis did not say", () => {
  expect(replyOf(new TypeError("NOSCRIPT fetch failed"))).toBeUndefined();
  expect(replyOf("NOSCRIPT")).toBeUndefined();
});
