import { randomUUID } from "node:crypto";
import { Redis as UpstashRedis } from "@upstash/redis";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { createBridge } from "../../scripts/bridge/bridge.ts";
import { REFUSED_COMMANDS } from "../../scripts/bridge/bridge-request.ts";
import { startRedisServer } from "../../scripts/machine/redis-server.ts";

const url = inject("restUrl");
const token = inject("restToken");

const keys: string[] = [];

/** A key that nobody else uses. It is deleted at the end, because the server under test may be shared. */
function newKey(): string {
  const key = `headgate-test:${randomUUID()}`;
  keys.push(key);
  return key;
}

const client = (options: { responseEncoding?: false; url?: string; token?: string } = {}) =>
  new UpstashRedis({
    url,
    token,
    retry: { retries: 0 },
    automaticDeserialization: false,
    enableAutoPipelining: false,
    enableTelemetry: false,
    ...options,
  });

/** Sends one request without @upstash/redis. */
async function post(path: string, body: string, headers: Record<string, string> = {}, method = "POST") {
  const init = { method, headers: { authorization: `Bearer ${token}`, ...headers } };
  const response = await fetch(url + path, method === "GET" ? init : { ...init, body });
  return { status: response.status, allow: response.headers.get("allow"), body: await response.json() };
}

const base64 = { "Upstash-Encoding": "base64" };

let direct: Redis;
beforeAll(() => {
  direct = new Redis(inject("redisUrl"));
});
afterAll(async () => {
  await direct.unlink(keys);
  await direct.quit();
});

describe.each([
  ["with base64", {}],
  ["without base64", { responseEncoding: false }],
] as const)("%s", (_name, options) => {
  const redis = client(options);

  const JSON_TEXT = '{"json":[1]}';
  it.each(["OK", "", "emoji 🚦 and é", "NUL \0 and CRLF \r\n", JSON_TEXT, "12"])("gives back %j", async (value) => {
    const key = newKey();
    expect(await redis.set(key, value, { px: 60_000 })).toBe("OK");
    expect(await redis.get(key)).toBe(value);
    expect((await redis.mget(key, newKey(), key)) as unknown).toEqual([value, null, value]);
  });

  it("gives back null, integers, statuses and nested arrays, and takes numbers and booleans as arguments", async () => {
    expect(await redis.get(newKey())).toBeNull();
    expect(await redis.incrby(newKey(), -7)).toBe(-7);
    expect(await redis.ping()).toBe("PONG");
    const reply = await redis.eval(`return {1, "two", {"OK", {3, false, "é"}}, {}}`, [], []);
    expect(reply).toEqual([1, "two", ["OK", [3, null, "é"]], []]);
    expect(await redis.eval("return ARGV", [], [1.5, true, -3, "x"])).toEqual(["1.5", "true", "-3", "x"]);
  });

  it("carries 1 MiB both ways, and does not round integers above 2^53", async () => {
    const value = "ü".repeat(512 * 1024);
    const key = newKey();
    await redis.set(key, value, { px: 60_000 });
    expect(await redis.get(key)).toBe(value);
    await redis.set(key, "9223372036854775806", { px: 60_000 });
    expect(await redis.incr(key)).toBe("9223372036854775807");
    expect(await redis.incrby(newKey(), Number.MAX_SAFE_INTEGER)).toBe(Number.MAX_SAFE_INTEGER);
  });

  it.each(["pipeline", "multi"] as const)("runs the rest of a %s in which one command fails", async (kind) => {
    const key = newKey();
    const batch = redis[kind]().set(key, "OK é", { px: 60_000 }).incr(key).get(key).mget(key, newKey());
    const results = await batch.exec({ keepErrors: true });
    expect(results.map(({ result }) => result)).toEqual(["OK", undefined, "OK é", ["OK é", null]]);
    expect(results[1]?.error).toMatch(/^ERR value is not an integer/);
    const failing = redis[kind]().incr(key).exec();
    await expect(failing).rejects.toThrow(/^Command 1 \[ incr \] failed: ERR value is not an integer/);
  });

  it("discards a whole transaction if Redis does not know one of its commands", async () => {
    const key = newKey();
    const transaction = redis.multi().set(key, "text", { px: 60_000 });
    // @ts-expect-error: the types have no such method with so few arguments.
    transaction.getrange(key);
    await expect(transaction.exec()).rejects.toThrow(/^EXECABORT Transaction discarded/);
    expect(await redis.exists(key)).toBe(0);
  });
});

it("runs transactions of many requests apart from each other, and from what is sent between them", async () => {
  const redis = client();
  const [key, beside] = [newKey(), newKey()];
  // No other request's increment comes between the two of a transaction.
  const both = Array.from({ length: 100 }, () => redis.multi().incr(key).incr(key).exec<[number, number]>());
  const others = both.map(() => redis.incr(beside));
  for (const [first, second] of await Promise.all(both)) expect(second).toBe(first + 1);
  expect(new Set(await Promise.all(others)).size).toBe(100);
  await redis.multi().expire(key, 60).expire(beside, 60).exec();
});

it("carries bytes that are not UTF-8 whole in base64, also nested; without it they are U+FFFD, as Upstash says", async () => {
  const key = newKey();
  await direct.set(key, Buffer.from([0x61, 0xff, 0x00]), "PX", 60_000);
  const result = "Yf8A";
  expect((await post("/", JSON.stringify(["GET", key]), base64)).body).toEqual({ result });
  const nested = JSON.stringify(["EVAL", 'return {{redis.call("GET", KEYS[1])}}', "1", key]);
  expect((await post("/", nested, base64)).body).toEqual({ result: [[result]] });
  expect((await post("/", JSON.stringify(["GET", key]))).body).toEqual({ result: "a\ufffd\0" });
});

describe("what goes over the wire", () => {
  it.each([
    ["/", '["ECHO","OK"]', { result: "OK" }],
    ["/", '["ECHO","PONG"]', { result: "UE9ORw==" }],
    ["/", '["EVAL","return {\\"OK\\"}","0"]', { result: ["T0s="] }],
    ["/pipeline", '[["ECHO","a"],["GET"]]', [{ result: "YQ==" }, { error: expect.stringMatching(/^ERR wrong/) }]],
    ["/multi-exec", '[["ECHO","a"],["ECHO","OK"]]', [{ result: "YQ==" }, { result: "OK" }]],
  ])("POST %s %s", async (path, body, expected) => {
    expect(await post(path, body, base64)).toMatchObject({ status: 200, body: expected });
  });

  it.each([
    ["an integer argument above 2^53", '["ECHO",9007199254740993]', "9007199254740993"],
    ["an error in an array", `["EVAL","return {redis.error_reply('ERR inside')}","0"]`, ["ERR inside"]],
    ["XREAD without BLOCK", '["XREAD","STREAMS","block","0"]', null],
    ["SCRIPT without DEBUG", '["SCRIPT","EXISTS","0"]', [0]],
    ["NOSCRIPT in Redis's words", `["EVALSHA","${"0".repeat(40)}","0"]`, undefined, /^NOSCRIPT No matching script/],
  ])("carries %s", async (_what, command, result, error?: RegExp) => {
    const { body } = await post("/", command);
    expect(body).toEqual(error ? { error: expect.stringMatching(error) } : { result });
  });

  it.each([
    ["/", "not json", "ERR failed to parse command"],
    ["/", '{"a":1}', "ERR failed to parse command"],
    ["/", "[]", "ERR empty command"],
    ["/", '["GET",null]', "ERR expected strings, numbers or booleans, found something else at position 1"],
    ["/", '["GET",["a"]]', "ERR expected strings, numbers or booleans, found something else at position 1"],
    ["/pipeline", "[]", "ERR empty pipeline request"],
    ["/pipeline", '["GET","a"]', "ERR failed to parse pipeline request"],
    ["/multi-exec", "[]", "ERR empty transaction request"],
    ["/multi-exec", "[[]]", "ERR empty transaction command"],
    ["/multi-exec", '["GET","a"]', "ERR failed to parse transaction request"],
  ])("answers 400 to %s %s", async (path, body, error) => {
    expect(await post(path, body)).toMatchObject({ status: 400, body: { error } });
  });

  it("answers 404, 405 and 413 with JSON, and stays usable", async () => {
    expect((await post("/elsewhere", "[]")).status).toBe(404);
    expect(await post("/", "", {}, "GET")).toMatchObject({ status: 405, allow: "POST" });
    const large = await post("/", JSON.stringify(["ECHO", "x".repeat(10 * 1024 * 1024)]));
    expect([large.status, large.body.error]).toEqual([413, expect.stringMatching(/^ERR max request size exceeded/)]);
    expect((await post("/", '["ECHO","a"]')).body).toEqual({ result: "a" });
  });
});

it.each(["Bearer wrong", `Basic ${token}`, "Bearer "])(
  "answers 401 to %s, before it looks at the path",
  async (authorization) => {
    for (const path of ["/", "/multi-exec", "/elsewhere"]) {
      const answer = await post(path, '["PING"]', { authorization });
      expect(answer).toMatchObject({ status: 401, body: { error: "WRONGPASS invalid or missing auth token" } });
    }
  },
);

it("cannot be without a token, and an own error of @upstash/redis says that one is wrong", async () => {
  await expect(createBridge({ redisUrl: inject("redisUrl"), token: "" })).rejects.toThrow(/expected a bearer token/);
  await expect(client({ token: "wrong" }).ping()).rejects.toThrow(/^WRONGPASS/);
});

describe("commands that the shared connection cannot have", () => {
  const FORMS = ["XREAD BLOCK 0 STREAMS s 0", "xread count 1 block 0 streams s 0", "SCRIPT DEBUG YES"];
  it.each([...REFUSED_COMMANDS, ...FORMS])("refuses %s", async (line) => {
    const { status, body } = await post("/", JSON.stringify(line.toLowerCase().split(" ")));
    const [name] = line.toUpperCase().split(" ");
    expect([status, body.error]).toEqual([400, expect.stringMatching(new RegExp(`^ERR ${name}.* is not available`))]);
  });

  it("discards a transaction that has one, before Redis sees any of it", async () => {
    const key = newKey();
    const { status, body } = await post("/multi-exec", `[["SET","${key}","1"],["SELECT","1"]]`);
    expect({ status, ...body }).toEqual({ status: 400, error: expect.stringContaining("ERR SELECT is not available") });
    expect(await direct.exists(key)).toBe(0);
  });

  it("runs the others of a pipeline", async () => {
    const { status, body } = await post("/pipeline", '[["ECHO","a"],["SELECT","1"],[],["ECHO","b"]]');
    expect(status).toBe(200);
    const refused = { error: expect.anything() };
    expect(body).toEqual([{ result: "a" }, refused, refused, { result: "b" }]);
  });
});

it("answers concurrent requests each with its own reply", async () => {
  const redis = client();
  const values = Array.from({ length: 200 }, (_, index) => `value ${index}`);
  expect(await Promise.all(values.map((value) => redis.echo(value)))).toEqual(values);
});

describe("a Redis that goes away", () => {
  it("is an error in bounded time, never a second try, and over when it is back", async () => {
    const server = await startRedisServer();
    const bridge = await createBridge({ redisUrl: server.url, token });
    const redis = client({ url: bridge.url });
    const beside = new Redis(server.url, { disableClientInfo: true });
    const headers = { authorization: `Bearer ${token}` };
    const send = (...command: string[]) =>
      fetch(bridge.url, { method: "POST", headers, body: JSON.stringify(command) });
    try {
      expect(bridge.redisReachable).toBe(true);
      expect(await redis.set("before", "1")).toBe("OK");
      // Redis takes commands that write, and runs none. The second one waits behind the first.
      await beside.client("PAUSE", 60_000, "WRITE");
      const pending = [send("INCR", "counter"), send("INCR", "counter")];
      await expect.poll(() => beside.client("LIST"), { timeout: 10_000 }).toMatch(/ flags=b .* qbuf=[1-9].* cmd=incr /);
      beside.disconnect();
      await server.kill();
      for (const response of await Promise.all(pending)) {
        expect(response.status).toBe(500);
        expect(await response.json()).toEqual({ error: expect.stringContaining("may have run") });
      }
      const down = await send("PING");
      expect(down.status).toBe(500);
      expect(await down.json()).toEqual({ error: expect.stringContaining("was not sent") });
      const pipeline = redis.pipeline().ping().ping();
      await expect(pipeline.exec()).rejects.toThrow("was not sent");
      await expect(redis.multi().ping().exec()).rejects.toThrow("was not sent");

      const revived = await startRedisServer({ port: server.port });
      try {
        await expect.poll(() => send("PING").then((response) => response.status), { timeout: 10_000 }).toBe(200);
        expect(await redis.get("counter")).toBeNull();
      } finally {
        await revived.stop();
      }
    } finally {
      beside.disconnect();
      await bridge.close();
      await server.stop();
    }
  });

  it("does not keep the bridge from starting", async () => {
    const bridge = await createBridge({ redisUrl: "redis://127.0.0.1:1", token });
    expect(bridge.redisReachable).toBe(false);
    await expect(client({ url: bridge.url }).ping()).rejects.toThrow("was not sent");
    await bridge.close();
    await expect(fetch(bridge.url)).rejects.toThrow();
  });

  it("is refused by kind of URL without showing it", async () => {
    const error = await createBridge({ redisUrl: "http://user:secret@host", token }).catch((caught) => caught);
    expect(error).toBeInstanceOf(TypeError);
    expect(error.message).not.toContain("secret");
  });
});
