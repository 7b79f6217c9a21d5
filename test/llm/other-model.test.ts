// Another model in a request: only the values of `model` change.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { changeableModel } from "../../src/llm/other-model.ts";

const MAX_BYTES = 1_048_576;
const CHAT = "https://gate.example/v1/chat/completions";

function post(body: BodyInit, headers: Record<string, string> = {}, url = CHAT): Request {
  return new Request(url, { method: "POST", body, headers });
}

/** The request that asks for the model `mini`. */
async function changed(request: Request, maxBytes = MAX_BYTES): Promise<Request | undefined> {
  return (await changeableModel(request, maxBytes))?.("mini");
}

const bodyOf = async (body: BodyInit) => (await changed(post(body)))?.text();

describe("the body", () => {
  it.each([
    ['{"model":"gpt-5","messages":[]}', '{"model":"mini","messages":[]}'],
    ['{"messages":[],"model":"gpt-5"}', '{"messages":[],"model":"mini"}'],
    ['\r\n{ "model" \t:\n "gpt-5" , "n" : 1 }\n', '\r\n{ "model" \t:\n "mini" , "n" : 1 }\n'],
    // Every one of them: which one a provider reads is not known.
    ['{"model":"a","x":"model","model":"b"}', '{"model":"mini","x":"model","model":"mini"}'],
    ['{"\\u006dodel":"a\\"b\\\\","Model":"c"}', '{"\\u006dodel":"mini","Model":"mini"}'],
    ['{"model":null,"n":-1.5e3,"b":true}', '{"model":"mini","n":-1.5e3,"b":true}'],
    ['{"model":{"a":[1,"}"]}}', '{"model":"mini"}'],
    ['{"model":7}', '{"model":"mini"}'],
    // Only at the top level.
    [
      '{"a":{"model":"x"},"m":["model",{"model":1}],"model":"b"}',
      '{"a":{"model":"x"},"m":["model",{"model":1}],"model":"mini"}',
    ],
    ['{"messages":"\\\\","model":"é😀"}', '{"messages":"\\\\","model":"mini"}'],
    // Nobody knows the default of a provider.
    ['{"messages":[]}', '{"model":"mini","messages":[]}'],
    [" { } ", ' {"model":"mini" } '],
  ])("%s keeps everything else", async (body, expected) => {
    expect(await bodyOf(body)).toBe(expected);
  });

  it("keeps bytes that are not UTF-8, and a mark of the byte order", async () => {
    const bytes = (text: string) => new Uint8Array([0xef, 0xbb, 0xbf, ...new TextEncoder().encode(text), 0x22, 0x7d]);
    const [given, expected] = ['{"model":"a","x":"', '{"model":"mini","x":"'].map((text) => {
      const all = bytes(`${text}?`);
      all[all.indexOf(0x3f)] = 0xff;
      return all;
    });
    const request = await changed(post(given as Uint8Array<ArrayBuffer>));
    expect(new Uint8Array(await request!.arrayBuffer())).toEqual(expected);
  });

  it.each([
    "",
    "[1]",
    '"model"',
    "model=a",
    '{"model":"a"',
    '{"model":"a"}}',
    '{"model":"a",}',
    "{model:1}",
    '{"model"}',
    '{"model":}',
    '{"a":1 "model":2}',
    '{"a"',
  ])("%s cannot be changed", async (body) => {
    expect(await changed(post(body))).toBeUndefined();
  });

  it("of UTF-16 cannot be changed, nor one that is compressed or longer", async () => {
    const text = '{"model":"a"}';
    expect(await changed(post(new Uint16Array([...text].map((one) => one.charCodeAt(0)))))).toBeUndefined();
    expect(await changed(post(text, { "Content-Encoding": "gzip" }))).toBeUndefined();
    expect(await changed(post(text), text.length - 1)).toBeUndefined();
    expect(await changed(post(text), text.length)).toBeDefined();
  });

  it("is read as JSON with another model, whatever it holds", async () => {
    const entries = fc.array(fc.tuple(fc.oneof(fc.constant("model"), fc.string()), fc.jsonValue()), { maxLength: 6 });
    const space = fc.constantFrom("", " ", "\n\t");
    await fc.assert(
      fc.asyncProperty(entries, space, async (members, gap) => {
        const lower = members.filter(([name]) => name === "model" || name.toLowerCase() !== "model");
        const text = `{${lower.map(([name, value]) => `${gap}${JSON.stringify(name)}${gap}:${gap}${JSON.stringify(value)}${gap}`).join(",")}}`;
        const { model: _, ...others } = JSON.parse(text) as Record<string, unknown>;
        const { model, ...rest } = JSON.parse((await bodyOf(text))!) as Record<string, unknown>;
        expect(model).toBe("mini");
        expect(rest).toEqual(others);
      }),
    );
  });
});

describe("the header fields", () => {
  it("tell the new length, and no digest of the client's body", async () => {
    const body = '{"model":"gpt-5"}';
    const headers = { "Content-Length": String(body.length), "Content-Digest": "sha-256=:AA==:", Authorization: "x" };
    const request = (await changed(post(body, headers)))!;
    expect([...request.headers]).toEqual([
      ["authorization", "x"],
      ["content-length", '{"model":"mini"}'.length.toString()],
      ["content-type", "text/plain;charset=UTF-8"],
    ]);
    expect((await changed(post(body)))!.headers.has("Content-Length")).toBe(false);
  });
});

describe("the path", () => {
  const azure = (name: string) => `https://gate.example/openai/deployments/${name}/chat/completions?api-version=1`;

  it("of Azure has another deployment, and the body too if it names a model", async () => {
    const both = (await changed(post('{"model":"gpt-5"}', {}, azure("gpt-5"))))!;
    expect([both.url, await both.text()]).toEqual([azure("mini"), '{"model":"mini"}']);
    const path = (await changed(post('{"n":1}', {}, azure("gpt-5"))))!;
    expect([path.url, await path.text()]).toEqual([azure("mini"), '{"n":1}']);
    const sound = (await changed(post("--form", {}, azure("whisper"))))!;
    expect([sound.url, await sound.text()]).toEqual([azure("mini"), "--form"]);
  });

  it("of Gemini has another model, and the body, which names none, stays", async () => {
    const gemini = (model: string, call: string) => `https://gate.example/v1beta/models/${model}:${call}`;
    for (const call of ["generateContent", "streamGenerateContent?alt=sse"]) {
      const request = (await changed(post('{"contents":[]}', {}, gemini("gemini-2.5-pro", call))))!;
      expect([request.url, await request.text()]).toEqual([gemini("mini", call), '{"contents":[]}']);
    }
  });

  it("whose deployment is spelled in a way that cannot be replaced is not changed", async () => {
    const odd = "https://gate.example/openai/%64eployments/gpt-5/chat/completions";
    expect(await changed(post('{"model":"gpt-5"}', {}, odd))).toBeUndefined();
  });
});

it("a request that is not changed can be sent on as it came", async () => {
  const request = post('{"model":"gpt-5"}');
  await changeableModel(request, MAX_BYTES);
  expect(await request.text()).toBe('{"model":"gpt-5"}');
});
