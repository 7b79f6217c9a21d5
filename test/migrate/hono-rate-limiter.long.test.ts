// docs/migrate/hono-rate-limiter.md: runs its programs, and compares its tables with the package's types.

import { expect, it } from "vitest";
import { fieldsOf } from "../support/cases/fields.ts";
import { sharedRedis } from "../support/redis/shared-redis.ts";
import { newAddress, storedCount } from "./clients.ts";
import {
  blocksOf,
  FIVE_OF_SEVEN,
  membersOf,
  namesInTables,
  readText,
  sendSeven,
  startWorker,
  statusesOf,
  waitsOf,
  withinOneHour,
} from "./guide.ts";

const GUIDE = "hono-rate-limiter";
const blocks = blocksOf(GUIDE);
const TYPES = readText("node_modules/hono-rate-limiter/dist/index.d.ts");

it("runs every program of the guide", () => {
  expect([...blocks.keys()]).toEqual(["Before ts", "After ts"]);
});

it("before: refused requests are refused and counted", async () => {
  const address = newAddress();
  const answers = await sendSeven(await startWorker(blocks.get("Before ts")!), { "CF-Connecting-IP": address });
  expect(statusesOf(answers)).toEqual(FIVE_OF_SEVEN);
  expect(await sharedRedis().get(`hrl:${address}`)).toBe("7");
});

it("after: the same requests are refused, told when to come back, and not counted", async () => {
  await withinOneHour();
  const address = newAddress();
  const answers = await sendSeven(await startWorker(blocks.get("After ts")!), { "CF-Connecting-IP": address });
  expect(statusesOf(answers)).toEqual(FIVE_OF_SEVEN);
  for (const seconds of waitsOf(answers)) expect(seconds).toBeGreaterThan(0);
  expect(fieldsOf(answers[0]!)).toMatchObject({ policies: { api: { q: 5, w: 3600 } }, states: { api: { r: 4 } } });
  expect(await storedCount({ kind: "ip", key: address })).toBe(5);
  expect(await sharedRedis().keys(`*${address}*`)).toEqual([]);
});

it.each([
  ["before", "Before ts", false],
  ["after", "After ts", true],
])("%s: an answer that the handler made as a Response has the fields: %s, %s", async (_, name, hasFields) => {
  const code = blocks
    .get(name)!
    .replace('c.text("Hello!\\n")', 'new Response("Hello!\\n")')
    .replace("(c) => new", "() => new");
  const answer = await (await startWorker(code))({ "CF-Connecting-IP": newAddress() });
  expect(answer.status).toBe(200);
  expect(answer.headers.has("RateLimit")).toBe(hasFields);
});

// docs/migrate/options.md has all of them.
it("names options that there are", () => {
  const options = ["CommonConfigType<", "HonoConfigType<", "KeyGeneratorType<", "CloudflareConfigType<"].flatMap(
    (type) => membersOf(TYPES, `type ${type}`, " {4}"),
  );
  expect(namesInTables(GUIDE, "Options of rateLimiter").filter((name) => !options.includes(name))).toEqual([]);
});
