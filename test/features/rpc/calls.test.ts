// What a body calls, as servers read it, whatever its spelling.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { callsOf, describeCalls, UNREAD } from "../../../src/features/rpc/calls.ts";
import { parseBody } from "../../../src/kernel/request/request-body.ts";
import { draws, expectReached } from "../../support/cases/draws.ts";

const ANY = { rpc: null, tool: null };
const encoder = new TextEncoder();
/** Of a body that has these bytes and is not empty. */
const callsIn = (text: string) => callsOf({ length: 1, ...parseBody(encoder.encode(text), new Headers()) })!;
const oneCall = (text: string) => callsIn(text).calls.map(({ call, times }) => (times === 1 ? call : [call, times]));

describe("a message", () => {
  it.each<[what: string, text: string, call: object]>([
    ["a tool", '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search"}}', { tool: "search" }],
    ["params before the method", '{"params":{"name":"search"},"method":"tools/call"}', { tool: "search" }],
    ["white space", ' {\n"method"\t:\r\n"tools/call" , "params" : { "name" : "search" } } \n', { tool: "search" }],
    ["an escaped name", String.raw`{"method":"tools/call","params":{"name":"\u0064elete"}}`, { tool: "delete" }],
    ["an escaped method", String.raw`{"m\u0065thod":"tools\/call","params":{"name":"a"}}`, { tool: "a" }],
    ["escaped params", String.raw`{"method":"tools/call","p\u0061rams":{"n\u0061me":"a"}}`, { tool: "a" }],
    [
      "a name inside the arguments, before",
      '{"method":"tools/call","params":{"arguments":{"name":"x"},"name":"a"}}',
      { tool: "a" },
    ],
    [
      "a name inside the arguments, behind",
      '{"method":"tools/call","params":{"name":"a","arguments":{"name":"x"}}}',
      { tool: "a" },
    ],
    [
      "a name in a text",
      String.raw`{"method":"tools/call","params":{"_":"\",\"name\":\"x\",\"","name":"a"}}`,
      { tool: "a" },
    ],
    [
      "backslashes before a quote",
      String.raw`{"_":"\\\\","method":"tools/call","params":{"_":"\\\"","name":"a"}}`,
      { tool: "a" },
    ],
    ["a name beside the params", '{"name":"x","method":"tools/call","params":{"name":"a"}}', { tool: "a" }],
    ["case of the method", '{"method":"Tools/Call","params":{"name":"a"}}', { rpc: "Tools/Call", tool: "a" }],
    [
      "members of the prototype",
      '{"__proto__":{"method":"x"},"constructor":1,"method":"tools/call","params":{"name":"a"}}',
      { tool: "a" },
    ],
    [
      "brackets in a text",
      '{"_":"}]{[","method":"tools/call","params":{"_":["]",{"}":"{"}],"name":"a"}}',
      { tool: "a" },
    ],
  ])("%s", (_, text, call) => {
    expect(oneCall(text)).toEqual([{ rpc: "tools/call", ...call }]);
  });

  it.each<[what: string, text: string]>([
    ["the method twice", '{"method":"ping","method":"tools/call","params":{"name":"a"}}'],
    ["the name twice", '{"method":"tools/call","params":{"name":"a","name":"b"}}'],
    ["the name twice, escaped", String.raw`{"method":"tools/call","params":{"name":"a","n\u0061me":"b"}}`],
    ["the id twice", '{"id":1,"method":"ping","id":2}'],
    ["another member twice, anywhere", '{"method":"ping","params":{"_":[{"a":1,"b":"\\"a\\":","a":1}]}}'],
    ["the params twice", '{"method":"tools/call","params":{"name":"a"},"params":{"name":"b"}}'],
    ["a method in another case", '{"method":"ping","Method":"tools/call","params":{"name":"a"}}'],
    ["a method in another case alone", '{"METHOD":"tools/call","params":{"name":"a"}}'],
    [
      "params with a letter that folds to s",
      '{"method":"tools/call","param\u017f":{"name":"b"},"params":{"name":"a"}}',
    ],
    ["a method that is a list", '{"method":["tools/call"],"params":{"name":"a"}}'],
  ])("%s may be any call", (_, text) => {
    expect(oneCall(text)).toEqual([ANY]);
  });

  it.each<[what: string, params: string]>([
    ["the name in another case", '{"name":"a","NAME":"b"}'],
    ["a name that ends in white space", '{"name":"a "}'],
    ["a name with a NUL", String.raw`{"name":"a\u0000b"}`],
    ["a name that is a list", '{"name":["delete"]}'],
    ["a name that is null", '{"name":null}'],
    ["no name", "{}"],
    ["params that are a list", '["delete"]'],
    ["params that are a text", '"delete"'],
  ])("%s may be any tool", (_, params) => {
    expect(oneCall(`{"method":"tools/call","params":${params}}`)).toEqual([{ rpc: "tools/call", tool: null }]);
  });

  it("without params may be any tool", () => {
    expect(oneCall('{"method":"tools/call"}')).toEqual([{ rpc: "tools/call", tool: null }]);
  });

  it("of another method has no tool, whatever its params", () => {
    expect(oneCall('{"method":"prompts/get","params":{"name":"a","Name":"b"}}')).toEqual([{ rpc: "prompts/get" }]);
  });

  it.each([
    '{"jsonrpc":"2.0","id":1,"result":{"method":"x"}}',
    '{"id":1,"error":{"code":1}}',
    "{}",
    "[]",
    "[[{}]]",
    "1",
    '"x"',
    "null",
  ])("%s is no call", (text) => {
    expect(callsIn(text)).toMatchObject({ calls: [], ids: [] });
  });

  it.each([
    "x",
    "{",
    '{"method":"a"}x',
    "{'method':'a'}",
    '{"method":"a",}',
    '{"a":NaN,"method":"a"}',
    '{"method":"a"}{"method":"b"}',
    '{"method":"a\u0000"}',
  ])("%j is not JSON, and may be any call", (text) => {
    expect(callsIn(text)).toBe(UNREAD);
  });
});

describe("ids", () => {
  it.each([
    ["1", "1"],
    ["9007199254740991", "9007199254740991"],
    ["-0", "0"],
    ["1.50", "1.5"],
    // As a server in JavaScript reads them.
    ["12345678901234567890", "12345678901234567000"],
    ["1E400", "null"],
    ['"a"', '"a"'],
    ['""', '""'],
    [String.raw`"\u0061\ud800\""`, String.raw`"a\ud800\""`],
    ["null", "null"],
  ])("%s is %s", (id, read) => {
    expect(callsIn(`{"id": ${id} ,"method":"ping"}`).ids).toEqual([read]);
    expect(callsIn(`{"method":"ping","id":${id}}`).ids).toEqual([read]);
  });

  it.each(["true", "{}", "[1]"])("%s is none, and null stands for it", (id) => {
    expect(callsIn(`{"id":${id},"method":"ping"}`).ids).toEqual(["null"]);
  });

  it("are the message's own", () => {
    expect(callsIn('{"id":1,"params":{"id":9},"method":"ping"}').ids).toEqual(["1"]);
  });

  it("notifications and responses have none", () => {
    const batch = '[{"method":"a"},{"id":1,"method":"b"},{"id":2,"result":{}},{"id":"c","method":"b"}]';
    expect(callsIn(batch)).toEqual({
      calls: [
        { call: { rpc: "a" }, times: 1 },
        { call: { rpc: "b" }, times: 2 },
      ],
      ids: ["1", '"c"'],
      isBatch: true,
    });
  });
});

it("operators are shown 5 calls, each cut", () => {
  const tool = (name: string) => `{"method":"tools/call","params":{"name":"${name}"}}`;
  const batch = [
    tool("a"),
    tool("a"),
    '{"method":"ping"}',
    '{"method":1}',
    '{"method":"tools/call"}',
    tool("x".repeat(99)),
  ];
  const shown = ["tools/call a ×2", "ping", "?", "tools/call ?", `tools/call ${"x".repeat(49)}`];
  expect(describeCalls(callsIn(`[${batch},{"method":"sixth"}]`))).toEqual(shown);
});

describe("hostile sizes", () => {
  it("reads a MiB of brackets, of backslashes and of members in linear time", () => {
    const wrap = (inside: string) => `{"_":${inside},"method":"tools/call","params":{"name":"a"}}`;
    const half = 500_000;
    for (const inside of [
      "[".repeat(half) + "]".repeat(half),
      `"${"\\\\".repeat(half)}"`,
      `"${'\\"'.repeat(half)}"`,
      `{${'"a":1,'.repeat(half / 3)}"a":1}`,
    ]) {
      const { calls } = callsIn(wrap(inside));
      // A stack that is too small for the depth gives no other tool than a body that is not JSON.
      expect([[{ call: { rpc: "tools/call", tool: "a" }, times: 1 }], UNREAD.calls]).toContainEqual(calls);
    }
  });

  it("tells 1,000 calls of a batch apart: any further one may be any call", () => {
    const batch = Array.from({ length: 1_500 }, (_, i) => `{"method":"m${i}"}`);
    const { calls } = callsIn(`[${batch.join(",")},{"method":"m0"}]`);
    expect(calls).toHaveLength(1_001);
    expect(calls[0]).toEqual({ call: { rpc: "m0" }, times: 2 });
    expect(calls[1_000]).toEqual({ call: ANY, times: 500 });
  });
});

describe("as JSON.parse", () => {
  // Without the name of a backslash: V8 13.6 then takes the name of a quote for it, and the body may be any call.
  const name = fc.constantFrom("method", "params", "name", "id", "a", '"', "\\n", "é");
  const plain = fc.string().filter((one) => one === one.trim());
  const text = fc.oneof(name, fc.constantFrom("tools/call", "delete", "\\"), plain);
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      text,
      fc.double({ noNaN: true }),
      fc.constantFrom(null, true, false),
      fc.array(tie("value"), { maxLength: 4 }),
      fc.dictionary(name, tie("value"), { maxKeys: 5, noNullPrototype: true }),
    ),
  }));
  const spaced = fc.constantFrom(undefined, 1, "\t", " \r\n");

  it("finds the method, the tool and the id of any message without doubles", () => {
    fc.assert(
      fc.property(fc.dictionary(name, value, { maxKeys: 6, noNullPrototype: true }), spaced, (message, space) => {
        const { method, params, id } = message as Record<string, unknown>;
        const { calls, ids } = callsIn(JSON.stringify(message, null, space));
        if (!("method" in message)) {
          expect(calls).toEqual([]);
          return;
        }
        const tool = (params as { name?: unknown } | null | undefined)?.name;
        const toolOf = typeof tool === "string" && !Array.isArray(params) ? tool : null;
        const isTool = typeof method === "string" && method === "tools/call";
        const call = typeof method !== "string" ? ANY : { rpc: method, ...(isTool && { tool: toolOf }) };
        expect(calls).toEqual([{ call, times: 1 }]);
        const isId = typeof id === "string" || typeof id === "number" || id === null;
        const written = isId ? JSON.parse(JSON.stringify(id)) : null;
        expect(ids.map((one) => JSON.parse(one) as unknown)).toEqual("id" in message ? [written] : []);
      }),
      draws(2_000),
    );
  });

  it("never takes a call for another one, with members twice, in another case, escaped and anywhere", () => {
    const escaped = (chars: string) =>
      fc
        .array(fc.boolean(), { minLength: chars.length, maxLength: chars.length })
        .map((which) =>
          [...chars].map((c, i) => (which[i] ? `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}` : c)).join(""),
        );
    const quoted = (...all: string[]) =>
      fc
        .constantFrom(...all)
        .chain(escaped)
        .map((one) => `"${one}"`);
    const memberOf = (names: fc.Arbitrary<string>, values: fc.Arbitrary<string>) =>
      fc.tuple(names, values).map(([name, value]) => `${name}:${value}`);
    const objectOf = (member: fc.Arbitrary<string>) =>
      fc.array(member, { maxLength: 5 }).map((members) => `{${members.join(" ,")}}`);
    const names = quoted("method", "Method", "params", "param\u017f", "name", "NAME", "id", "_");
    const leaf = fc.oneof(
      quoted("tools/call", "ping", "delete", "echo", "} , {"),
      fc.constantFrom("1", "null", "[]", "{}"),
    );
    const inner = objectOf(memberOf(names, fc.oneof(leaf, objectOf(memberOf(names, leaf)))));
    const others = fc.array(memberOf(names, fc.oneof(leaf, inner)), { maxLength: 2 });
    const honest = fc.tuple(escaped("method"), escaped("tools/call"), escaped("params"), escaped("delete"), inner);
    const message = fc.tuple(honest, others).chain(([[method, call, params, tool, before], more]) => {
      const own = before === "{}" ? "{" : `${before.slice(0, -1)},`;
      const members = [`"${method}":"${call}"`, `"${params}":${own}"name":"${tool}"}`, ...more];
      return fc.shuffledSubarray(members, { minLength: members.length }).map((all) => `{${all.join(" ,")}}`);
    });
    let hidden = 0;
    fc.assert(
      fc.property(fc.array(message, { minLength: 1, maxLength: 3 }), (messages) => {
        const { calls } = callsIn(`[${messages.join(",")}]`);
        for (const one of messages) {
          // As Go and JavaScript may read it.
          const seen = JSON.parse(one) as { method?: unknown; params?: { name?: unknown } | null };
          if (typeof seen.method !== "string") continue;
          const tool = seen.method === "tools/call" ? seen.params?.name : undefined;
          const isFound = calls.some(
            ({ call }) => call.rpc === null || (call.rpc === seen.method && (call.tool === null || call.tool === tool)),
          );
          hidden += Number(seen.method === "tools/call" && tool === "delete" && calls !== UNREAD.calls);
          expect(isFound, one).toBe(true);
        }
      }),
      draws(5_000),
    );
    expectReached(hidden, 20);
  });
});
