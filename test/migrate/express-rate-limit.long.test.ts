// docs/migrate/express-rate-limit.md: runs its programs, and compares its table with the package's types.

import { parse as parseToml } from "smol-toml";
import { expect, it } from "vitest";
import { createGateway } from "../../src/gateway.ts";
import { newAddress, storedCount } from "./clients.ts";
import {
  blocksOf,
  FIVE_OF_SEVEN,
  membersOf,
  namesInTables,
  readText,
  redisBindings,
  type Send,
  sendSeven,
  sendTo,
  startServer,
  statusesOf,
  waitsOf,
  withinOneHour,
} from "./guide.ts";

const GUIDE = "express-rate-limit";
const blocks = blocksOf(GUIDE);
const TYPES = readText("node_modules/express-rate-limit/dist/index.d.ts");

it("runs every program of the guide", () => {
  const gateway = "After, the gateway in front";
  expect([...blocks.keys()]).toEqual(["Before ts", "After ts", `${gateway} ts`, `${gateway} toml`]);
});

it.each(["Before ts", "After ts"])(
  "%s: the sixth and the seventh request are refused, and told when to come back",
  async (name) => {
    await withinOneHour();
    const address = newAddress();
    const answers = await sendSeven(sendTo(await startServer(blocks.get(name)!)), { "X-Forwarded-For": address });
    expect(statusesOf(answers)).toEqual(FIVE_OF_SEVEN);
    for (const seconds of waitsOf(answers)) expect(seconds).toBeGreaterThan(0);
    // The program "Before" counts in its own memory. headgate's counts leave the refused requests out.
    if (name !== "Before ts") expect(await storedCount({ kind: "ip", key: address })).toBe(5);
  },
);

it("the gateway in front refuses the same two, and the app does not see them", async () => {
  await withinOneHour();
  const name = "After, the gateway in front";
  const { vars } = parseToml(blocks.get(`${name} toml`)!) as { vars: Record<string, unknown> };
  const bindings = { ...vars, ...(await redisBindings()), ORIGIN_URL: await startServer(blocks.get(`${name} ts`)!) };
  const gateway = createGateway(bindings);
  const address = newAddress();
  const send: Send = async (headers) =>
    await gateway.fetch(new Request("https://app.example/", { headers: headers! }), bindings);
  const answers = await sendSeven(send, { "CF-Connecting-IP": address });
  expect(statusesOf(answers)).toEqual(FIVE_OF_SEVEN);
  for (const seconds of waitsOf(answers)) expect(seconds).toBeGreaterThan(0);
  expect(answers.map(({ headers }) => headers.get("X-Powered-By"))).toEqual([...Array(5).fill("Express"), null, null]);
  expect(await storedCount({ kind: "ip", key: address })).toBe(5);
});

// docs/migrate/options.md has all of them.
it("names options that there are", () => {
  const options = membersOf(TYPES, "export type Options = {", "\t");
  expect(namesInTables(GUIDE, "Options").filter((name) => !options.includes(name))).toEqual([]);
});
