// What nobody can meter is refused, or costs what the policy says: it is never free.

import { describe, expect, it } from "vitest";
import { json, meteredHandler, type PolicyInput, TOKENS, usageOf } from "../../support/llm/metered-handler.ts";

const ORIGIN = "https://gate.example";
const stating = (cost: number): PolicyInput => ({ ...TOKENS, meter: { unit: "tokens", unmetered: { cost } } });

interface Asked {
  readonly path: string;
  readonly method?: string;
  readonly body?: BodyInit | null;
  readonly headers?: Record<string, string>;
}

async function ask({ path, method = "POST", body = "{}", headers = {} }: Asked, policies?: readonly PolicyInput[]) {
  let passed = 0;
  const { send, used } = meteredHandler(() => {
    passed++;
    return json({ usage: usageOf(3, 4) });
  }, policies);
  const init = /^(?:GET|HEAD)$/.test(method) ? { method, headers } : { method, headers, body };
  const response = await send(new Request(`${ORIGIN}${path}`, init));
  const [text, retry] = [await response.text(), response.headers.get("X-Should-Retry")];
  return { status: response.status, passed, used: await used(), text, retry };
}

const form = new FormData();
form.set("file", "x");

const UNMETERED: readonly Asked[] = [
  { path: "/v1/images/generations" },
  { path: "/v1/Audio//speech/" },
  { path: "/v1/%76ideos" },
  { path: "/v1/messages/batches" },
  { path: "/v1/images/edits", method: "DELETE", headers: { "X-HTTP-Method-Override": "post" } },
  { path: "/v1%2Fimages%2fgenerations" },
  { path: "/v1/images;a=b/generations" },
  { path: "/v1beta/models/g:batchGenerateContent" },
  { path: "/v1beta/models/veo:predictLongRunning" },
  { path: "/v1/chat/completions", headers: { Upgrade: "WebSocket" } },
  { path: "/v1/files", body: form },
  { path: "/v1/fine_tuning/jobs" },
  { path: "/v1/realtime/sessions", method: "PUT" },
  { path: "/v1/images/edits", method: "PATCH" },
  { path: "/v1/chat/completions", headers: { "Content-Encoding": "gzip" } },
  { path: "/mine", headers: { "Content-Encoding": "br" } },
  { path: "/mine", body: "hello" },
  { path: "/mine", body: form },
  { path: "/v1/realtime", method: "GET", headers: { Upgrade: "websocket" } },
  { path: "/v1/responses", method: "GET", headers: { Upgrade: "websocket" } },
];

describe.each(UNMETERED.map((asked, i) => [`${i}: ${asked.method ?? "POST"} ${asked.path}`, asked] as const))(
  "%s",
  (_, asked) => {
    it("is refused with 400 and a sentence, and costs nothing", async () => {
      const { text, ...rest } = await ask(asked);
      expect(rest).toEqual({ status: 400, passed: 0, used: 0, retry: "false" });
      expect(JSON.parse(text).error.message).toMatch(/metered/);
    });

    it("costs what the policy says, whatever the answer", async () => {
      expect(await ask(asked, [stating(12)])).toMatchObject({ status: 200, passed: 1, used: 12 });
    });
  },
);

it.each<[Asked, number]>([
  [{ path: "/v1/messages/count_tokens" }, 0],
  [{ path: "/model/claude/count-tokens" }, 0],
  [{ path: "/v1/batches/b1/cancel" }, 0],
  [{ path: "/v1beta/models/g:countTokens" }, 0],
  [{ path: "/v1/files", method: "GET" }, 0],
  [{ path: "/v1/files/f1", method: "DELETE", body: null }, 0],
  [{ path: "/v1/profiles" }, 7],
  [{ path: "/v1/chat/completions", headers: { Upgrade: "h2c" } }, 7],
  [{ path: "/v1/models", method: "GET", headers: { Upgrade: "h2c" } }, 0],
  [{ path: "/mine", body: "[1]" }, 7],
  [{ path: "/v1/chat/completions", body: "hello" }, 7],
])("%o passes, and costs %i", async (asked, used) => {
  for (const policies of [undefined, [stating(12)]]) {
    expect(await ask(asked, policies)).toMatchObject({ status: 200, passed: 1, used });
  }
});

it("a body that is cut counts by its length, and is settled", async () => {
  expect(await ask({ path: "/mine", body: `"${"x".repeat(1_048_576)}"` })).toMatchObject({ status: 200, used: 7 });
});

it("in shadow nothing is refused, and a cost is counted", async () => {
  const asked = UNMETERED[0]!;
  expect(await ask(asked, [{ ...TOKENS, mode: "shadow" }])).toMatchObject({ status: 200, passed: 1, used: 0 });
  expect(await ask(asked, [{ ...stating(12), mode: "shadow" }])).toMatchObject({ status: 200, passed: 1, used: 12 });
});

it("a policy in shadow that would refuse pays nothing beside one with a cost", async () => {
  const { send, used } = meteredHandler(
    () => json({ usage: usageOf(3, 40) }),
    [stating(12), { ...TOKENS, name: "shadow", mode: "shadow" }],
  );
  const headers = { "Content-Encoding": "x" };
  await (await send(new Request(`${ORIGIN}/v1/messages`, { method: "POST", body: "{}", headers }))).text();
  expect([await used(), await used("shadow")]).toEqual([43, 0]);
});

it.each<Asked>([
  { path: "/v1/images/generations" },
  // A model may answer it: what it used is settled.
  { path: "/v1/chat/completions", headers: { "Content-Encoding": "gzip" } },
])("a cost above what is left is refused as any other, also beside others under way: %o", async ({ path, headers }) => {
  const day: PolicyInput = { ...stating(12), limits: [{ algorithm: "fixed-window", limit: 20, window: "1d" }] };
  const { send, used } = meteredHandler(() => json({}), [day]);
  const ask = () => send(new Request(`${ORIGIN}${path}`, { method: "POST", body: "{}", headers: headers ?? {} }));
  const answers = await Promise.all([ask(), ask()]);
  await Promise.all(answers.map((answer) => answer.text()));
  expect([...answers.map(({ status }) => status), await used()]).toEqual([200, 429, 12]);
});

describe("a cost is no discount for a request that a model may answer all the same", () => {
  const day: PolicyInput["limits"] = [{ algorithm: "fixed-window", limit: 100, window: "1d" }];

  it.each<Asked>([
    { path: "/v1/chat/completions", headers: { "Content-Encoding": "identity, x" } },
    { path: "/v1/chat/completions", headers: { Upgrade: "websocket" } },
    { path: "/v1/images/..%2fchat/completions" },
    { path: "/mine", body: '{"top_p":NaN}' },
  ])("%o pays what the answer says if that is more", async (asked) => {
    expect(await ask(asked, [{ ...stating(2), limits: day }])).toMatchObject({ status: 200, used: 7 });
    expect(await ask(asked, [{ ...stating(90), limits: day }])).toMatchObject({ status: 200, used: 90 });
  });

  it.each([500, 204])("an answer with %i costs what the policy says", async (status) => {
    const { send, used } = meteredHandler(() => new Response(null, { status }), [stating(12)]);
    const headers = { "Content-Encoding": "x" };
    await send(new Request(`${ORIGIN}/v1/chat/completions`, { method: "POST", body: "{}", headers }));
    expect(await used()).toBe(12);
  });
});

it.each<["refuse" | { cost: number }, number]>([
  ["refuse", 24],
  [{ cost: 3 }, 6],
])("an overflow with unmetered %o pays what the policy says, or its own cost", async (unmetered, paid) => {
  const policies: PolicyInput[] = [
    { ...stating(12), limits: [{ algorithm: "fixed-window", limit: 20, window: "1d" }], overflow: "team" },
    { ...TOKENS, name: "team", meter: { unit: "tokens", unmetered } },
  ];
  const { send, used } = meteredHandler(() => json({}), policies);
  for (let i = 0; i < 3; i++) {
    await send(new Request(`${ORIGIN}/v1/images/generations`, { method: "POST", body: "{}" }));
  }
  expect([await used(), await used("team")]).toEqual([12, paid]);
});

it("dollars are written as dollars", async () => {
  const meter = { unit: "usd", unmetered: { cost: 0.04 }, prices: { default: { input: 1, output: 2 } } } as const;
  const day = [{ algorithm: "fixed-window", limit: 10, window: "1d" }] as const;
  expect(await ask(UNMETERED[0]!, [{ ...TOKENS, meter, limits: day }])).toMatchObject({ used: 4_000 });
});

it.each(["?alt=proto", "?alt=sse&%61lt=media", "?$alt=text", "?%24alt=json&alt="])(
  "Gemini's %s is no form that can be read",
  async (query) => {
    const asked = { path: `/v1beta/models/g:generateContent${query}` };
    expect(await ask(asked)).toMatchObject({ status: 400, passed: 0, used: 0 });
    expect(await ask({ path: `/v1/chat/completions${query}` })).toMatchObject({ status: 200 });
    // No preflight has a body.
    expect(await ask({ ...asked, method: "OPTIONS", body: null })).toMatchObject({ status: 200, used: 0 });
  },
);
