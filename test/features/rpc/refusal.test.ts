// What a refused JSON-RPC request is answered, and which requests are read at all.

import { beforeEach, describe, expect, it, vi } from "vitest";
import { withRateLimit } from "../../../src/adapters/with-rate-limit.ts";
import type { PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { fieldsOf } from "../../support/cases/fields.ts";
import { createLimiter } from "../../support/limiter.ts";

// The beginning of an hour.
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now: 1_800_000_000_000 }));

type Ask = (body?: BodyInit, init?: RequestInit) => Promise<Response>;

/** @param policies further fields of them; each has a limit of 1 in an hour. */
function refusing(...policies: Partial<PolicyInput>[]): Ask {
  const all = policies.map((one, i) => ({
    ...{ name: `p${i}`, key: "global", limits: [{ algorithm: "fixed-window", limit: 1, window: "1h" }] },
    ...one,
  })) as PolicyInput[];
  const limiter = createLimiter({ policies: all, store: memoryStore() });
  const { fetch } = withRateLimit(() => new Response("ok"), limiter);
  return async (body, init = {}) => {
    const request = new Request("https://gate.example/mcp", {
      method: "POST",
      ...init,
      ...(body !== undefined && { body }),
    });
    return (await fetch(request, {}, { waitUntil() {} } as never)) as Response;
  };
}

const RPC = { match: { rpc: "*" } };
const ping = (id: string) => `{"jsonrpc":"2.0","id":${id},"method":"ping"}`;

describe("a refusal", () => {
  it("has status 200 if the policy says so, its code stays; with `problem` it is the problem document", async () => {
    const auto = refusing({ ...RPC, refusal: { as: "auto", status: 200 } });
    await auto(ping("1"));
    const answer = await auto(ping("2"));
    expect([answer.status, answer.headers.get("Retry-After")]).toEqual([200, "3600"]);
    expect(await answer.json()).toMatchObject({ id: 2, error: { code: 429 } });
    const problem = refusing({ ...RPC, refusal: { as: "problem" } });
    await problem(ping("1"));
    expect(await (await problem(ping("2"))).json()).toMatchObject({ status: 429, title: "Quota Exceeded" });
  });

  it("is an error of JSON-RPC with the wait, under the fields of every refusal", async () => {
    const ask = refusing(RPC);
    expect((await ask(ping("1"))).status).toBe(200);
    const refused = await ask(ping('"abc"'));
    expect(refused.status).toBe(429);
    expect(fieldsOf(refused)).toMatchObject({ states: { p0: { r: 0, t: 3_600 } }, retryAfter: 3_600 });
    expect(Object.fromEntries(refused.headers)).toMatchObject({
      "content-type": "application/json",
      "cache-control": "no-store",
      "retry-after-ms": "3600000",
      "x-should-retry": "false",
    });
    expect(await refused.json()).toEqual({
      jsonrpc: "2.0",
      id: "abc",
      error: {
        code: 429,
        message: expect.stringMatching(/^Over the limit p0 .*Try again in 3600 seconds\.$/),
        data: { retryAfter: 3_600, "violated-policies": ["p0"] },
      },
    });
  });

  it.each(["0", "9007199254740991", '""', String.raw`"a\ud800\" </script>"`, "null"])(
    "repeats the id %s",
    async (id) => {
      const ask = refusing(RPC);
      await ask(ping("1"));
      expect(await (await ask(ping(id))).text()).toContain(`{"jsonrpc":"2.0","id":${id},"error":{`);
    },
  );

  it.each([
    ["a notification", '{"method":"notifications/a"}', undefined],
    ["a batch of notifications", '[{"method":"a"},{"method":"b"}]', undefined],
    ["a body that cannot be read", "{", undefined],
    ["a compressed body", ping("7"), { "Content-Encoding": "gzip" }],
    ["a batch of more than 100", `[${Array.from({ length: 101 }, (_, i) => ping(String(i))).join()}]`, undefined],
  ])("of %s has the id null", async (_, body, headers) => {
    const ask = refusing(RPC);
    await ask(ping("1"));
    const refused = await ask(body, headers && { headers });
    expect([refused.status, await refused.json()]).toMatchObject([429, { id: null, error: { code: 429 } }]);
  });

  it("of a batch is one error for each request, and none for notifications and responses", async () => {
    const ask = refusing(RPC);
    await ask(ping("1"));
    const refused = await ask(`[${ping("3")},{"method":"a"},{"id":9,"result":1},${ping('"x"')},${ping("null")}]`);
    const errors = (await refused.json()) as { id: unknown; error: { code: number } }[];
    expect(errors.map(({ id, error }) => [id, error.code])).toEqual([
      [3, 429],
      ["x", 429],
      [null, 429],
    ]);
    expect(await (await ask(`[${ping("3")}]`)).json()).toHaveLength(1);
  });

  it("of a batch that costs more than the limit says that it never passes, and charges nothing", async () => {
    const ask = refusing(RPC);
    const refused = await ask(`[${ping("1")},${ping("2")}]`);
    expect([refused.status, refused.headers.get("Retry-After")]).toEqual([429, null]);
    expect(await refused.json()).toMatchObject([
      { id: 1, error: { data: { retryAfter: null } } },
      { id: 2, error: { message: expect.stringContaining("can never be admitted") } },
    ]);
    expect((await ask(ping("1"))).status).toBe(200);
  });

  it("has the code and the status of the policy that speaks", async () => {
    const ask = refusing({ ...RPC, refusal: { status: 402, code: 4_290 } });
    await ask(ping("1"));
    const refused = await ask(ping("1"));
    expect([refused.status, await refused.json()]).toMatchObject([402, { id: 1, error: { code: 4_290 } }]);
  });

  it("has the policy's own body, if it has one", async () => {
    const ask = refusing({ ...RPC, refusal: { body: '{"own":{retryAfter}}' } });
    await ask(ping("1"));
    expect(await (await ask(ping("1"))).json()).toEqual({ own: 3_600 });
  });

  it("of another policy of the same request has the same form, without an id: its body is not read", async () => {
    const ask = refusing(
      { match: { tool: "search" }, limits: [{ limit: 9, window: "1h" }] },
      {},
      { match: { path: "/other" } },
    );
    await ask(ping("1"));
    expect(await (await ask(ping("2"))).json()).toMatchObject({
      id: null,
      error: { data: { "violated-policies": ["p1"] } },
    });
  });

  it("of a request without a body, and where no policy looks at bodies, is the problem document", async () => {
    const ask = refusing({ cost: [{ tool: "search", cost: 1 }] });
    await ask(ping("1"));
    const plain = refusing({});
    await plain(ping("1"));
    for (const refused of [await ask(), await ask(undefined, { method: "GET" }), await plain(ping("1"))]) {
      expect(refused.headers.get("Content-Type")).toBe("application/problem+json");
      expect(await refused.json()).toMatchObject({ status: 429, "violated-policies": ["p0"] });
    }
  });
});

it("no byte of a request is read if no policy of its path and method looks at it", async () => {
  const match = { path: "/mcp", method: "POST", host: "gate.example" };
  const many = { limits: [{ limit: 1_000, window: "1h" }] } as const;
  const ask = refusing({ match: { ...match, tool: "*" } }, { match, cost: [{ rpc: "a", cost: 1 }] }, many);
  let read = 0;
  const send = async (method: string) => {
    const body = new ReadableStream(
      {
        pull(controller) {
          read++;
          controller.error(new Error("read"));
        },
      },
      { highWaterMark: 0 },
    );
    return (await ask(body, { method, duplex: "half" } as RequestInit)).status;
  };
  expect([await send("PUT"), read]).toEqual([200, 0]);
  // A body that breaks off may be any call.
  expect([await send("POST"), read]).toEqual([200, 1]);
  expect(await send("POST")).toBe(429);
});
