// What is read of a body against a simple oracle over JSON.parse: the same text, the same model, and never less.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { estimateBody } from "../../../src/features/meter/llm/estimate.ts";
import { readBody } from "../../../src/kernel/request/request-body.ts";
import { draws } from "../../support/cases/draws.ts";

const encoder = new TextEncoder();
const bytesOf = (text: string) => encoder.encode(text).length;

async function read(text: string, maxBytes?: number) {
  const request = new Request("https://a.test/v1/chat/completions", { method: "POST", body: text });
  const body = await readBody(request, maxBytes === undefined ? {} : { maxBytes });
  const of = estimateBody(request, body);
  return { body, ...of(0), media: of(1).inputTokens - of(0).inputTokens };
}

type Members = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Members => typeof value === "object" && value !== null;

/** The bytes of a value, with the names of its members; 4 for each that is no text. */
function bytesIn(value: unknown): number {
  if (typeof value === "string") return bytesOf(value);
  if (!isObject(value)) return 4;
  const names = Array.isArray(value) ? [] : Object.keys(value);
  return Object.values(value).reduce((sum: number, one) => sum + bytesIn(one), bytesOf(names.join("")));
}

const INPUTS = ["messages", "input", "tools", "prompt", "system", "contents"];
const CONFIGS = ["generationConfig", "generation_config"];
const SCHEMAS = ["responseSchema", "response_json_schema"];

function expected(text: string) {
  const body = JSON.parse(text) as Members;
  let textBytes = 0;
  for (const name of INPUTS) textBytes += bytesIn(body[name] ?? "");
  for (const name of CONFIGS) {
    // A list of configs is what its items are, as every list.
    for (const config of [body[name]].flat(Number.POSITIVE_INFINITY)) {
      if (isObject(config)) for (const schema of SCHEMAS) textBytes += schema in config ? bytesIn(config[schema]) : 0;
    }
  }
  return { textBytes, model: body.model };
}

/** Any text. */
const words = fc.oneof(
  fc.string({ unit: fc.constantFrom("a", '"', "\\", "\n", "é", "日", "🎉", "{", "]", ":", ",", "\u0001") }),
  fc.constantFrom("x".repeat(33), `${"word ".repeat(20)}"\\`, "\\\\".repeat(40)),
);
/** Names that matter, and parts that may be media but have no type. */
const names = fc.constantFrom(
  ...["content", "parts", "source", "file", "inlineData", "variables", "role", "text", "é\n", "model", "n"],
);
const scalar = fc.oneof(
  fc.constantFrom(true, false, null),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
);
const { value } = fc.letrec((tie) => ({
  value: fc.oneof({ depthSize: "small" }, words, scalar, fc.array(tie("value")), fc.dictionary(names, tie("value"))),
}));
const body = fc.dictionary(
  fc.constantFrom(...INPUTS, ...CONFIGS, "metadata", "max_tokens"),
  fc.oneof(value, fc.dictionary(fc.constantFrom(...SCHEMAS, "temperature"), value)),
);
const json = fc
  .record({ body, model: fc.option(words), spaces: fc.constantFrom(0, 1, "\t"), isEscaped: fc.boolean() })
  .map(({ body, model, spaces, isEscaped }) => {
    const text = JSON.stringify({ ...body, model }, null, spaces);
    const unit = (c: string) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`;
    return isEscaped ? text.replace(/[^\0-~]|(?<=\w)[aeo](?=\w*")/g, unit) : text;
  });

describe("a body", () => {
  it("is as JSON.parse says", async () => {
    await fc.assert(
      fc.asyncProperty(json, async (text) => {
        const { textBytes, model } = expected(text);
        const estimate = {
          inputTokens: Math.ceil(textBytes / 4),
          media: 0,
          model: model ?? undefined,
          isUnread: false,
        };
        expect(await read(text)).toMatchObject(estimate);
        expect(await read(`\uFEFF${text}\r\n`)).toMatchObject(estimate);
      }),
      draws(1_000),
    );
  });

  it("in which a member stands twice anywhere counts as the last one and by its length, at any model's price", async () => {
    const once = '"a":{"x":[{"b":"\\"b\\":","\\\\":1}]},"model":"dear","messages":["four"]';
    expect(await read(`{${once}}`)).toMatchObject({ isUnread: false, model: "dear", inputTokens: 1 });
    for (const twice of [
      `{${once},"mod\\u0065l":"cheap"}`,
      `{${once},"messages":[]}`,
      `{${once.replace('"b":', '"\\\\":2,"b":')}}`,
      `{${once},"__proto__":1,"__proto__":1}`,
    ]) {
      const { textBytes } = expected(twice);
      const inputTokens = Math.ceil((twice.length + textBytes) / 4);
      expect(await read(twice)).toMatchObject({ isUnread: true, model: undefined, inputTokens });
    }
  });

  it("that is cut off, or longer than what is read, counts by its length", async () => {
    await fc.assert(
      fc.asyncProperty(json, fc.nat(), async (text, at) => {
        const cut = text.slice(0, at % text.length);
        const unread = { isUnread: true, model: undefined, media: 0 };
        expect(await read(cut)).toMatchObject({ ...unread, inputTokens: Math.ceil(bytesOf(cut) / 4) });
        // Of a body of unknown length 1 MiB is assumed.
        expect(await read(text, bytesOf(text) - 1)).toMatchObject({ ...unread, inputTokens: 262_144 });
      }),
      draws(300),
    );
  });

  it.each([
    ["is a list", "[1]"],
    ["is a text", '"messages"'],
    ["is a number", "7"],
    ["does not end", '{"messages":["a"]'],
    ["goes on behind its end", '{"messages":["a"]} {}'],
    ["has a word of another language", '{"top_p":NaN}'],
    ["has a word that is too long", '{"a":nullx}'],
    ["has a number that is none", '{"max_tokens":1-2}'],
    ["has a comma too many", '{"a":[1,]}'],
    ["has a comma too few", '{"a":[1 2]}'],
    ["has no colon", '{"a" 1}'],
    ["has a name that is none", "{1:2}"],
    ["closes another one", '{"a":[1}}'],
    ["has single quotes", "{'a':1}"],
    ["has a comment", '{"a":1/* */}'],
    ["has another space", '{"a":\f1}'],
  ])("that %s is no JSON object, and counts by its length", async (_, text) => {
    const { length } = text;
    expect(await read(text)).toMatchObject({ isUnread: true, media: 0, inputTokens: Math.ceil(length / 4) });
  });

  it("with bytes that are no UTF-8, or that another charset is named for, counts as it was read and by its length", async () => {
    const start = encoder.encode('{"model":"cheap","messages":["');
    const bytes = new Uint8Array([...start, 0xff, 0xc3, ...encoder.encode('"]}')]);
    const of = async (body: Uint8Array<ArrayBuffer>, type: string) => {
      const headers = { "Content-Type": type };
      const request = new Request("https://a.test/v1/messages", { method: "POST", body, headers });
      return estimateBody(request, await readBody(request))(0);
    };
    expect(await of(bytes, "application/json")).toMatchObject({ isUnread: true, inputTokens: Math.ceil((6 + 35) / 4) });
    const text = encoder.encode('{"messages":["four"]}');
    for (const charset of ["utf-16le", "utf-7", "utf-8; charset=utf-7"]) {
      const type = `application/json; charset=${charset}`;
      expect(await of(text, type)).toMatchObject({ isUnread: true, inputTokens: Math.ceil((4 + 21) / 4) });
    }
    expect(await of(text, 'application/json; charset="UTF-8"')).toMatchObject({ isUnread: false, inputTokens: 1 });
  });

  it("has parts that are media, with their type in front or behind", async () => {
    const part = '{"image_url":{"url":"https://a.test/a.png"},"type":"image_url","x":[1,2]}';
    const other = part.replace('"type"', '"kind"');
    const url = bytesOf("https://a.test/a.png") + bytesOf("url") + bytesOf("image_url") * 2 + bytesOf("type");
    const rest = bytesOf("content") + bytesOf("x") + 8;
    const inputTokens = (textBytes: number) => Math.ceil(textBytes / 4);
    for (const [one, media, text] of [
      [part, 1, rest],
      ['{"type":"image_url",'.concat(part.slice(1).replace('"type":"image_url",', "")), 1, rest],
      [other, 0, rest + url],
    ] as const) {
      const { body: _, ...estimate } = await read(`{"messages":[{"content":[${one}]}]}`);
      expect(estimate).toMatchObject({ media, inputTokens: inputTokens(text) });
    }
  });
});
