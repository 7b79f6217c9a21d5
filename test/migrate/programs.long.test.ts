// docs/migrate: runs every program of the guides, before and after.

import { parse as parseToml } from "smol-toml";
import { describe, expect, it } from "vitest";
import { createGateway } from "../../src/gateway.ts";
import { fieldsOf } from "../support/cases/fields.ts";
import { sharedRedis } from "../support/redis/shared-redis.ts";
import { newAddress, newUser, storedCount } from "./clients.ts";
import {
  blocksOf,
  redisBindings,
  type Send,
  sendSeven,
  sendTo,
  startServer,
  startWorker,
  withinOneHour,
} from "./guide.ts";

const GATEWAY = "After, the gateway in front";
/** By guide: the field that names a client, and its programs. */
const GUIDES: Readonly<Record<string, readonly [field: string, ...programs: string[]]>> = {
  "express-rate-limit": ["X-Forwarded-For", "Before ts", "After ts", `${GATEWAY} ts`, `${GATEWAY} toml`],
  "hono-rate-limiter": ["CF-Connecting-IP", "Before ts", "After ts"],
  "rate-limiter-flexible": ["X-User", "Before ts", "After ts", "After, on Workers ts"],
  "upstash-ratelimit": ["CF-Connecting-IP", "Before ts", "After ts", "After, by hand ts"],
};
/** What the other limiters keep of a client whose seventh request was refused: they count refused requests too. */
const KEPT: Readonly<Record<string, string>> = { "hono-rate-limiter": "hrl:", "rate-limiter-flexible": "api:" };

const start = async (code: string): Promise<Send> =>
  /\blisten\(/.test(code) ? sendTo(await startServer(code)) : await startWorker(code);

/** The sixth and the seventh are refused, and told when to come back. */
function expectFiveOfSeven(answers: readonly Response[], tellsWait = true): void {
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 429, 429]);
  if (!tellsWait) return;
  for (const { headers } of answers.slice(5)) expect(Number(headers.get("Retry-After"))).toBeGreaterThan(0);
}

describe.each(Object.entries(GUIDES))("%s", (guide, [field, ...programs]) => {
  const blocks = blocksOf(guide);
  const newClient = field === "X-User" ? newUser : newAddress;

  it("has no other programs", () => {
    expect([...blocks.keys()]).toEqual(programs);
  });

  it.each(programs.filter((name) => !name.startsWith(GATEWAY)))(
    "%s: two of seven requests are refused",
    async (name) => {
      await withinOneHour();
      const client = newClient();
      const answers = await sendSeven(await start(blocks.get(name)!), { [field]: client });
      expectFiveOfSeven(answers, guide !== "hono-rate-limiter" || name !== "Before ts");
      const keys = await sharedRedis().keys(`*${client}*`);
      if (name === "Before ts") {
        const kept = KEPT[guide];
        if (kept !== undefined) expect(await sharedRedis().get(kept + client)).toBe("7");
        // That of express counts in its own memory.
        return expect(keys.length > 0).toBe(guide !== "express-rate-limit");
      }
      // headgate leaves the refused requests out, and stores no client's name.
      const kind = field === "X-User" ? (name === "After ts" ? "key" : "header:x-user") : "ip";
      expect(await storedCount({ kind, key: client })).toBe(5);
      expect(keys).toEqual([]);
    },
  );
});

it("express-rate-limit: the gateway in front refuses the same two, and the app does not see them", async () => {
  await withinOneHour();
  const blocks = blocksOf("express-rate-limit");
  const { vars } = parseToml(blocks.get(`${GATEWAY} toml`)!) as { vars: Record<string, unknown> };
  const ORIGIN_URL = await startServer(blocks.get(`${GATEWAY} ts`)!);
  const bindings = { ...vars, ...(await redisBindings()), ORIGIN_URL };
  const gateway = createGateway(bindings);
  const address = newAddress();
  const send: Send = async (headers) =>
    await gateway.fetch(new Request("https://app.example/", { headers: headers! }), bindings);
  const answers = await sendSeven(send, { "CF-Connecting-IP": address });
  expectFiveOfSeven(answers);
  expect(answers.map(({ headers }) => headers.get("X-Powered-By"))).toEqual([...Array(5).fill("Express"), null, null]);
  expect(await storedCount({ kind: "ip", key: address })).toBe(5);
});

it.each([
  ["Before ts", false],
  ["After ts", true],
])(
  "hono-rate-limiter, %s: an answer that the handler made as a Response has the fields: %s",
  async (name, hasFields) => {
    const code = blocksOf("hono-rate-limiter")
      .get(name)!
      .replace('c.text("Hello!\\n")', 'new Response("Hello!\\n")')
      .replace("(c) => new", "() => new");
    const answer = await (await startWorker(code))({ "CF-Connecting-IP": newAddress() });
    expect(answer.status).toBe(200);
    expect(answer.headers.has("RateLimit")).toBe(hasFields);
    if (hasFields)
      expect(fieldsOf(answer)).toMatchObject({ policies: { api: { q: 5, w: 3600 } }, states: { api: { r: 4 } } });
  },
);

it("upstash-ratelimit: both programs of headgate count one client as one", async () => {
  await withinOneHour();
  const blocks = blocksOf("upstash-ratelimit");
  const headers = { "CF-Connecting-IP": newAddress() };
  expectFiveOfSeven(await sendSeven(await startWorker(blocks.get("After ts")!), headers));
  const byHand = await startWorker(blocks.get("After, by hand ts")!);
  expect((await byHand(headers)).status).toBe(429);
  expect(await storedCount({ kind: "ip", key: headers["CF-Connecting-IP"] })).toBe(5);
});
