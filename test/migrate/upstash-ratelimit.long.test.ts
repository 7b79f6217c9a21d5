// docs/migrate/upstash-ratelimit.md: runs its programs, and compares its tables with the package's types.

import { expect, it } from "vitest";
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

const GUIDE = "upstash-ratelimit";
const blocks = blocksOf(GUIDE);
const TYPES = readText("node_modules/@upstash/ratelimit/dist/index.d.ts");

it("runs every program of the guide", () => {
  expect([...blocks.keys()]).toEqual(["Before ts", "After ts", "After, by hand ts"]);
});

it.each([...blocks.keys()])(
  "%s: the sixth and the seventh request are refused, and told when to come back",
  async (name) => {
    await withinOneHour();
    const address = newAddress();
    const answers = await sendSeven(await startWorker(blocks.get(name)!), { "CF-Connecting-IP": address });
    expect(statusesOf(answers)).toEqual(FIVE_OF_SEVEN);
    for (const seconds of waitsOf(answers)) expect(seconds).toBeGreaterThan(0);

    const isPlain = (await sharedRedis().keys(`*${address}*`)).length > 0;
    expect(isPlain).toBe(name === "Before ts");
  },
);

it("both programs of headgate count one client as one", async () => {
  await withinOneHour();
  const headers = { "CF-Connecting-IP": newAddress() };
  const [wrapped, byHand] = [
    await startWorker(blocks.get("After ts")!),
    await startWorker(blocks.get("After, by hand ts")!),
  ];
  expect(statusesOf(await sendSeven(wrapped, headers))).toEqual(FIVE_OF_SEVEN);
  expect((await byHand(headers)).status).toBe(429);
  expect(await storedCount({ kind: "ip", key: headers["CF-Connecting-IP"] })).toBe(5);
});

// docs/migrate/options.md has every option.
it("names options that there are, and has every method", () => {
  const options = [
    ...membersOf(TYPES, "type RegionRatelimitConfig = {", " {4}"),
    ...membersOf(TYPES, "type MultiRegionRatelimitConfig = {", " {4}"),
  ];
  expect(namesInTables(GUIDE, "Options of the constructor").filter((name) => !options.includes(name))).toEqual([]);
  const told = namesInTables(GUIDE, "Methods");
  const needed = [
    ...membersOf(TYPES, "declare abstract class Ratelimit<", " {4}").filter((name) => name !== "constructor"),
    ...membersOf(TYPES, "type RatelimitResponse = {", " {4}"),
  ];
  expect(needed.filter((name) => !told.includes(name))).toEqual([]);
  const algorithms = [...TYPES.matchAll(/^ {4}static (\w+)\(/gm)].map(([, name]) => name!);
  const shown = namesInTables(GUIDE, "Algorithms");
  expect(algorithms.filter((name) => !shown.includes(name))).toEqual([]);
});
