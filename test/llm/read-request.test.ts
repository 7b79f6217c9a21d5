// The reader of bodies against JSON.parse: the same text and the same fields, whole or cut off anywhere.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readRequest } from "../../src/llm/read-request.ts";
import { draws } from "../support/cases/draws.ts";

const encoder = new TextEncoder();
const read = (text: string, isCut = false) => readRequest(encoder.encode(text), isCut, "openai-chat");
const bytesOf = (text: string) => encoder.encode(text).length;

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

/** JSON that was cut off, made whole behind the last value that is complete. */
function closed(text: string): { json: string; length: number } {
  const open: string[] = [];
  let length = 0;
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '"') {
      for (i++; i < text.length && text[i] !== '"'; i++) if (text[i] === "\\") i++;
      continue;
    }
    const kind = "{[,]}".indexOf(text[i]!);
    if (kind < 0) continue;
    if (kind < 2) open.push("}]"[kind]!);
    if (kind > 2) open.pop();
    length = kind === 2 ? i : i + 1;
  }
  return { json: text.slice(0, length) + open.reverse().join(""), length };
}

/** Any text, also longer than what is read byte by byte. */
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
  it("is as JSON.parse says", () => {
    fc.assert(
      fc.property(json, (text) => {
        const { textBytes, model } = expected(text);
        expect(read(text)).toMatchObject({ textBytes, media: 0, unreadBytes: 0, isWhole: true });
        expect(read(text).fields.model).toBe(model);
        expect(read(`\uFEFF${text}\r\n`)).toEqual(read(text));
      }),
      draws(1_000),
    );
  });

  it("that is cut off is read up to the last value that is complete", () => {
    fc.assert(
      fc.property(json, fc.nat(), (text, at) => {
        const ascii = text.replace(/[^\0-~]/g, "?");
        const cut = ascii.slice(0, at % (ascii.length + 1));
        const { json, length } = closed(cut);
        const textBytes = length === 0 ? 0 : expected(json).textBytes;
        expect(read(cut, true)).toMatchObject({ textBytes, unreadBytes: cut.length - length, isWhole: false });
      }),
      draws(1_000),
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
  ])("that %s is no JSON, and counts by its length", (_, text) => {
    const { length } = text;
    expect(read(text)).toEqual({ fields: {}, textBytes: 0, media: 0, unreadBytes: length, isWhole: false });
  });

  it("names a model once more: the last one counts, as for JSON.parse", () => {
    expect(read('{"model":"dear","mod\\u0065l":"cheap"}').fields.model).toBe("cheap");
  });

  it("has parts that are media, whole or cut off behind their data", () => {
    const part = (rest: string) =>
      `{"messages":[{"content":[{"image_url":{"url":"https://a.test/a.png"},"type":"image_url","x":[1,${rest}`;
    const url = "https://a.test/a.png".length + "url".length + "image_url".length * 2 + "type".length;
    const whole = read(`${part("2]}")}]}]}`);
    expect(whole).toMatchObject({ media: 1, textBytes: "content".length + "x".length + 8, isWhole: true });
    const cut = read(part('{"a":[["'), true);
    // The 1 is complete, and so are the lists that are open.
    expect(cut).toMatchObject({ media: 1, textBytes: "content".length + "x".length + 4 + "a".length, unreadBytes: 1 });
    expect(read(part("2]}").replace('"type"', '"kind"').concat("]}]}"))).toMatchObject({
      media: 0,
      textBytes: whole.textBytes + url,
    });
  });
});
