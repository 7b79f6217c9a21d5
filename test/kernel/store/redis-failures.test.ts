// A Redis that cannot answer. Exactly one request, and a StoreError that names the reason and no secret.

import type { RequestListener } from "node:http";
import { expect, inject, it, vi } from "vitest";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import type { LimitSpec } from "../../../src/kernel/core/algorithms.ts";
import { recordIdOf } from "../../../src/kernel/core/records.ts";
import { Flag, type TakeRequest } from "../../../src/kernel/core/take.ts";
import { withBreaker } from "../../../src/kernel/place/breaker.ts";
import { redisPlace } from "../../../src/kernel/store/redis.ts";
import type { Store } from "../../../src/kernel/store/store.ts";
import { keyRequest } from "../../support/gateway/counter.ts";
import { leaksIn } from "../../support/gateway/leaks.ts";
import { startOrigin } from "../../support/gateway/origin-server.ts";
import { failureOf } from "../../support/redis/stores.ts";

const KEY = "hg:2:{api:client-hash}";
const TOKEN = "token-of-the-store";
const COMMAND = ["evalsha", "cmsgpack", "redis.call", "4711"];

const limit: LimitSpec = { limit: 4711, kind: Kind.weighted, bucketMs: 1000, buckets: 1 };
const request: TakeRequest = { keys: [keyRequest(KEY, [limit])], flag: Flag.take };
const ID = recordIdOf(limit);

const storeAt = (url: string, timeoutMs = 30_000) => redisPlace({ url, token: TOKEN, timeoutMs });

const answer =
  (status: number, body: string): RequestListener =>
  (_request, response) => {
    response.writeHead(status, { "Content-Type": "application/json" }).end(body);
  };
const reply = (result: unknown) => answer(200, JSON.stringify({ result }));
const refusal = (error: string, status = 400) => answer(status, JSON.stringify({ error }));

const hangUp: RequestListener = ({ socket }) => socket.destroy();
const hangUpHalfWay: RequestListener = (_request, response) => {
  response.writeHead(200, { "Content-Length": "100" }).write('{"result":[');
  setImmediate(() => response.destroy());
};

// test/redis/replies.test.ts has everything that Redis replies.
it.each<[what: string, listener: RequestListener, code: string, redisCode?: string]>([
  ["a server that hangs up", hangUp, "NETWORK"],
  ["a server that hangs up within its reply", hangUpHalfWay, "NETWORK"],
  ["a page of a proxy", answer(200, "<html>"), "MALFORMED_REPLY"],
  ["an empty body", answer(200, ""), "MALFORMED_REPLY"],
  ["JSON without a result", answer(200, "{}"), "MALFORMED_REPLY"],
  ["an error that is null", answer(500, "null"), "MALFORMED_REPLY"],
  ["a list that is too short", reply([1, 1, 0, 5, 1]), "MALFORMED_REPLY"],
  ["a list with text in it", reply([1, 1, 0, 5, "1", 0]), "MALFORMED_REPLY"],
  ["a list with a fraction in it", reply([1, 1, 0, 5, 0.5, 0]), "MALFORMED_REPLY"],
  ["an instant below 0", reply([-1, ID, 0, 5, 1]), "MALFORMED_REPLY"],
  ["a count below 0", reply([1, ID, 0, 5, -1]), "MALFORMED_REPLY"],
  ["CROSSSLOT", refusal("CROSSSLOT Keys in request don't hash to the same slot"), "CROSSSLOT"],
  ["an error that names the key", refusal(`ERR no such key ${KEY}`), "REDIS", "ERR"],
  ["an error that begins with the key", refusal(`${KEY} is wrong`), "REDIS", "ERR"],
  ["an error with status 200", answer(200, '{"error":"BUSY Redis is busy running a script."}'), "REDIS", "BUSY"],
  ["an error without words", answer(500, "{}"), "REDIS", "ERR"],
])("after %s: one request, a code and no secret", async (_what, listener, code, redisCode) => {
  const { url, requests } = await startOrigin(listener);
  const error = await failureOf(storeAt(url).take(request));
  expect({ code: error.code, redisCode: error.redisCode }).toEqual({ code, redisCode });
  expect(requests).toHaveLength(1);
  expect(leaksIn(error, [KEY, "client-hash", TOKEN, new URL(url).host, ...COMMAND])).toEqual([]);
});

it("spends one time budget on both calls when the script is not known", async () => {
  const { url, requests } = await startOrigin((request, response) => {
    if (requests.length === 1) refusal("NOSCRIPT No matching script.")(request, response);
  });
  expect((await failureOf(storeAt(url, 500).take(request))).code).toBe("TIMEOUT");
  expect(requests).toHaveLength(2);
});

it("says that a refused connection is the network", async () => {
  // Nobody listens on port 2. A port that was free a moment ago may be somebody's now.
  const error = await failureOf(storeAt("http://127.0.0.1:2").take(request));
  expect(error.code).toBe("NETWORK");
  expect(leaksIn(error, [KEY, TOKEN, ...COMMAND])).toEqual([]);
});

it("says that a wrong token is unauthorized, whatever is asked", async () => {
  const store = redisPlace({ url: inject("restUrl"), token: "wrong", timeoutMs: 30_000 });
  const asks: ((store: Store) => Promise<unknown>)[] = [
    (store) => store.take(request),
    (store) => store.reset([KEY]),
    (store) => store.ping(),
  ];
  for (const ask of asks) expect((await failureOf(ask(store))).code).toBe("UNAUTHORIZED");
});

it("refuses an answer to PING that is not PONG", async () => {
  const { url, requests } = await startOrigin(reply("PING"));
  expect((await failureOf(storeAt(url).ping())).code).toBe("MALFORMED_REPLY");
  // A reset of nothing asks nobody.
  await storeAt(url).reset([]);
  expect(requests).toHaveLength(1);
});

it("a request that has made as many subrequests as Cloudflare lets it was not charged, and the store is well", async () => {
  // Local runtimes have no such bound, so this error has the text of production.
  vi.spyOn(globalThis, "fetch").mockRejectedValue(new Error("Too many subrequests by single Worker invocation."));
  const store = withBreaker(storeAt("https://redis.example"), { timeoutMs: 30_000 });
  for (let i = 0; i < 20; i++) {
    expect(await failureOf(store.take(request))).toMatchObject({ code: "SUBREQUESTS", notRun: true });
  }
  expect(store.breaker!()).toBe("closed");
});

it("where the platform cannot say what is open, a late reply is waited for as anywhere", async () => {
  // As in workerd with nodejs_compat. In real time, because the server is a real one.
  const unable = vi.spyOn(process, "getActiveResourcesInfo").mockImplementation(() => {
    throw new Error("not implemented");
  });
  const answered = reply([1, ID, 0, 5, 1]);
  const { url } = await startOrigin((incoming, response) => void setTimeout(() => answered(incoming, response), 150));
  const failure = await failureOf(storeAt(url, 50).take(request));
  expect(failure.code).toBe("TIMEOUT");
  expect(unable).toHaveBeenCalled();
  // Longer than the interval in which open resources are looked at.
  expect(await failure.timeout?.answer).toBeDefined();
});
