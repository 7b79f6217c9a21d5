// docs/migrate/rate-limiter-flexible.md: runs its programs, and compares its tables with the package's types.

import { expect, it } from "vitest";
import { sharedRedis } from "../support/redis/shared-redis.ts";
import { newUser, storedCount } from "./clients.ts";
import {
  blocksOf,
  FIVE_OF_SEVEN,
  membersOf,
  namesInTables,
  readText,
  sendSeven,
  sendTo,
  startServer,
  startWorker,
  statusesOf,
  waitsOf,
  withinOneHour,
} from "./guide.ts";

const GUIDE = "rate-limiter-flexible";
const blocks = blocksOf(GUIDE);
const TYPES = readText("node_modules/rate-limiter-flexible/types.d.ts");

it("runs every program of the guide", () => {
  expect([...blocks.keys()]).toEqual(["Before ts", "After ts", "After, on Workers ts"]);
});

it("before: refused requests are refused and counted", async () => {
  const user = newUser();
  const answers = await sendSeven(sendTo(await startServer(blocks.get("Before ts")!)), { "X-User": user });
  expect(statusesOf(answers)).toEqual(FIVE_OF_SEVEN);
  for (const seconds of waitsOf(answers)) expect(seconds).toBeGreaterThan(0);
  expect(await sharedRedis().get(`api:${user}`)).toBe("7");
});

it.each([
  ["After ts", "key"],
  ["After, on Workers ts", "header:x-user"],
])("%s: the same requests are refused, told when to come back, and not counted", async (name, kind) => {
  await withinOneHour();
  const code = blocks.get(name)!;
  const user = newUser();
  const send = code.includes("createServer") ? sendTo(await startServer(code)) : await startWorker(code);
  const answers = await sendSeven(send, { "X-User": user });
  expect(statusesOf(answers)).toEqual(FIVE_OF_SEVEN);
  for (const seconds of waitsOf(answers)) expect(seconds).toBeGreaterThan(0);
  expect(await storedCount({ kind, key: user })).toBe(5);
  expect(await sharedRedis().keys(`*${user}*`)).toEqual([]);
});

// docs/migrate/options.md has every option.
it("names options that there are, and has every method and class", () => {
  const interfaces = [...TYPES.matchAll(/^(?:export )?interface (\w*(?:Options|Opts)\w*) /gm)].map(([, name]) => name!);
  // This interface holds the attributes of a MongoDB call.
  const ofOptions = interfaces.filter((name) => name !== "IRateLimiterMongoFunctionOptions");
  const options = new Set(ofOptions.flatMap((name) => membersOf(TYPES, `interface ${name} `, " {4}")));
  expect(namesInTables(GUIDE, "Options").filter((name) => !options.has(name))).toEqual([]);

  const told = namesInTables(GUIDE, "Methods and classes");
  const methods = membersOf(TYPES, "export class RateLimiterAbstract {", " {4}");
  const classes = [...TYPES.matchAll(/^export class (\w+)/gm)].map(([, name]) => name!);
  // Fields are options. Programs do not use the base classes directly.
  const isPart = (name: string) => options.has(name) || /^constructor$|Abstract$|Error$/.test(name);
  expect([...methods, ...classes].filter((name) => !isPart(name) && !told.includes(name))).toEqual([]);
});
