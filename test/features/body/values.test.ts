// What the fields of a body say, whoever writes it, and however it is written.

import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { type BodyValue, valuesIn } from "../../../src/features/body/values.ts";
import { readBody } from "../../../src/kernel/request/request-body.ts";

type Bytes = Uint8Array<ArrayBuffer>;
type Init = string | Bytes | FormData | URLSearchParams;

const JSON_TYPE = { "Content-Type": "application/json" };
const FORM_TYPE = { "Content-Type": "application/x-www-form-urlencoded" };
const MULTIPART = { "Content-Type": "multipart/form-data; boundary=x" };

async function valueOfBody(path: string, body: Init, headers: Record<string, string> = {}): Promise<BodyValue> {
  const request = new Request("https://gate.example/", { method: "POST", body, headers });
  return valuesIn(await readBody(request), request.headers)(path);
}

/** Nobody can tell. */
const DOUBT = null;
const ABSENT = undefined;

const bytes = (...parts: (string | number[])[]): Bytes =>
  new Uint8Array(Buffer.concat(parts.map((one) => Buffer.from(one as string))));

describe("JSON", () => {
  it.each<[what: string, path: string, body: string | Bytes, expected: BodyValue]>([
    ["a text", "email", '{"email":"ann@example.com"}', "ann@example.com"],
    ["a text behind others", "user.email", '{"a":[1],"user":{"id":1,"email":"ann"}}', "ann"],
    ["an item of a list", "items.1.id", '{"items":[{"id":"a"},{"id":"b"}]}', "b"],
    ["a path as forms have it", "items[1][id]", '{"items":[{"id":"a"},{"id":"b"}]}', "b"],
    ["a list as the whole body", "0.id", '[{"id":"a"}]', "a"],
    ["a number", "n", '{"n":5.50}', "5.5"],
    ["booleans", "stream", '{"stream":false}', "false"],
    ["another escape", "email", '{"\\u0065mail":"\\u0061nn"}', "ann"],
    ["a text of 1,000 characters, whole", "email", `{"email":"${"a".repeat(1_000)}"}`, "a".repeat(1_000)],
    ["another member", "email", '{"mail":"ann"}', ABSENT],
    ["an empty text", "email", '{"email":""}', ABSENT],
    ["null", "email", '{"email":null}', ABSENT],
    ["a list", "email", '{"email":["ann"]}', ABSENT],
    ["an object", "email", '{"email":{"a":1}}', ABSENT],
    ["a member of a text", "email.length", '{"email":"ann"}', ABSENT],
    ["the length of a list", "items.length", '{"items":[1]}', ABSENT],
    ["an item that is not written as a number", "items.00", '{"items":["a"]}', ABSENT],
    ["an item that is not there", "items.7", '{"items":["a"]}', ABSENT],
    ["what objects inherit", "constructor.name", '{"a":1}', ABSENT],
    ["__proto__ that is not there", "__proto__", '{"a":1}', ABSENT],
    ["__proto__ as a member", "__proto__.email", '{"__proto__":{"email":"ann"}}', "ann"],
    ["a member of __proto__", "email", '{"__proto__":{"email":"ann"}}', ABSENT],
    ["a member twice", "email", '{"email":"ann","email":"bob"}', DOUBT],
    ["a member twice, by an escape", "email", '{"email":"ann","\\u0065mail":"bob"}', DOUBT],
    ["a member twice, in another case", "email", '{"email":"ann","Email":"bob"}', DOUBT],
    ["a member in another case alone", "email", '{"EMAIL":"bob"}', DOUBT],
    ["a member in another case above", "user.email", '{"user":{},"User":{"email":"ann"}}', DOUBT],
    ["a letter that Go takes for k", "key", '{"\\u212aey":"ann"}', DOUBT],
    ["no JSON", "email", "email=ann", DOUBT],
    ["half of it", "email", '{"email":"ann"', DOUBT],
    ["white space", "email", " ", DOUBT],
    ["deep nesting", "email", `{"email":"ann","a":${"[".repeat(300)}${"]".repeat(300)}}`, DOUBT],
    ["bytes that are not UTF-8", "email", bytes('{"email":"ann', [0xff], '"}'), DOUBT],
    ["1 MiB and more", "email", `{"email":"ann","a":"${"a".repeat(1_048_576)}"}`, DOUBT],
  ])("%s", async (_, path, body, expected) => {
    expect(await valueOfBody(path, body, JSON_TYPE)).toBe(expected);
    // Anything but a form is tried as JSON.
    expect(await valueOfBody(path, body, { "Content-Type": "text/plain" })).toBe(expected);
    expect(await valueOfBody(path, body, { "Content-Type": "" })).toBe(expected);
  });

  it("cannot be read if it is compressed, or called another charset", async () => {
    const text = '{"email":"ann"}';
    expect(await valueOfBody("email", bytes(text), { ...JSON_TYPE, "Content-Encoding": "identity" })).toBe("ann");
    const packed = new Uint8Array(gzipSync(text));
    expect(await valueOfBody("email", packed, { ...JSON_TYPE, "Content-Encoding": "gzip" })).toBe(DOUBT);
    expect(await valueOfBody("email", text, { "Content-Type": "application/json; charset=utf-16" })).toBe(DOUBT);
  });

  it("says nothing without a body", async () => {
    expect(await valueOfBody("email", "", JSON_TYPE)).toBe(ABSENT);
    expect(valuesIn(await readBody(new Request("https://gate.example/")), new Headers())("email")).toBe(ABSENT);
  });

  it("is searched among very many members", async () => {
    const many = `{${Array.from({ length: 40_000 }, (_, i) => `"${i.toString(36).padStart(5, "0")}":1`).join(",")},"email":"a"}`;
    expect(await valueOfBody("email", many, JSON_TYPE)).toBe("a");
  });
});

describe("a form in a URL's encoding", () => {
  it.each<[what: string, path: string, body: string | Bytes, expected: BodyValue]>([
    ["a field", "email", "a=1&email=ann%40example.com&b=2", "ann@example.com"],
    ["a value with =", "email", "email=a=b", "a=b"],
    ["a name with a dot", "user.email", "user.email=ann", "ann"],
    ["a name with brackets", "user[email]", "user[email]=ann&user%5Bname%5D=Ann", "ann"],
    ["a name with brackets for one with dots", "user.email", "user[email]=ann", "ann"],
    ["an encoded name", "email", "%65mail=ann", "ann"],
    ["a field that only begins alike", "email", "email2=ann&xemail=ann", ABSENT],
    ["an empty field", "email", "email=", ABSENT],
    ["a field twice", "email", "email=ann&email=bob", DOUBT],
    ["a field twice, encoded", "email", "email=ann&%65mail=bob", DOUBT],
    ["a field twice, in another case", "email", "email=ann&EMAIL=bob", DOUBT],
    ["a field in another case alone", "email", "Email=bob", DOUBT],
    ["a list in PHP and Rails", "email", "email[]=ann", DOUBT],
    ["a name with white space", "email", "+email=ann", DOUBT],
    ["a name in front of NUL", "email", "email%00x=ann", DOUBT],
    ["a name with a dot, for which PHP has _", "user_email", "user.email=ann", DOUBT],
    ["a name with a space, for which PHP has _", "user_email", "user+email=ann", DOUBT],
    ["a name with half a bracket, for which PHP has _", "user_email", "user[email=ann", DOUBT],
    ["a name with more behind its brackets, which PHP drops", "user.email", "user[email]x=ann", DOUBT],
    ["a name in two spellings", "user.email", "user.email=ann&user[email]=bob", DOUBT],
    ["a field behind a semicolon", "email", "a=1;email=ann", DOUBT],
    ["an encoding that is broken", "email", "a=%zz&email=ann", DOUBT],
    ["an encoding that is not UTF-8", "email", "a=%ff&email=ann", DOUBT],
    ["bytes that are not UTF-8", "email", bytes("email=ann&a=", [0xff]), DOUBT],
    ["another charset by its own field", "email", "_charset_=utf-7&email=ann", DOUBT],
    ["UTF-8 by its own field", "email", "_charset_=UTF-8&email=ann", "ann"],
    ["JSON, which some origins read all the same", "email", '{"email":"ann"}', DOUBT],
    ["JSON that nobody parses", "email", ` {"email":"ann","a":${"[".repeat(300)}${"]".repeat(300)}}`, DOUBT],
    ["very many fields", "email", `email=ann${"&a".repeat(10_001)}`, DOUBT],
  ])("%s", async (_, path, body, expected) => {
    expect(await valueOfBody(path, body, FORM_TYPE)).toBe(expected);
  });

  it("is what URLSearchParams writes", async () => {
    expect(await valueOfBody("email", new URLSearchParams({ a: "&;=+ é", email: "änn+b@example.com" }))).toBe(
      "änn+b@example.com",
    );
  });

  it.each([
    ["application/x-www-form-urlencoded; charset=utf-16", DOUBT],
    ["application/x-www-form-urlencoded, application/json", DOUBT],
    ["application/json, application/x-www-form-urlencoded", DOUBT],
    ["application/x-www-form-urlencoded-not", DOUBT],
    ['application/X-WWW-Form-URLencoded ; charset="UTF-8"', "ann"],
  ])("is called one: %s", async (type, expected) => {
    expect(await valueOfBody("email", bytes("email=ann"), { "Content-Type": type })).toBe(expected);
  });
});

describe("a form of several parts", () => {
  const CD = "Content-Disposition: form-data";
  const EMAIL = `${CD}; name="email"\r\n\r\nann`;
  const form = (...parts: string[]) => `${parts.map((part) => `--x\r\n${part}\r\n`).join("")}--x--\r\n`;
  /** @param rest of the head, behind "form-data". */
  const named = (rest: string, value = "ann") => form(`${CD}${rest}\r\n\r\n${value}`);
  const PNG = `${CD}; name="b"; filename="b.png"\r\nContent-Type: image/png\r\n\r\n..`;
  const BINARY = [0xff, 0, 0x80, 0x9d, 13, 10];

  it.each<[what: string, body: string | Bytes, expected: BodyValue]>([
    ["a field", form(EMAIL), "ann"],
    ["a field between others", form(`${CD}; name=a\r\n\r\n`, EMAIL, PNG), "ann"],
    [
      "a field beside a file of any bytes",
      bytes(`--x\r\n${CD}; name="f"; filename="é"\r\n\r\n`, BINARY, `\r\n--x\r\n${EMAIL}é\r\n--x--`),
      "anné",
    ],
    [
      "a name without quotes, as .NET writes it",
      form(`Content-Type: text/plain; charset=utf-8\r\n${CD}; name=email\r\n\r\nann`),
      "ann",
    ],
    ["a value of several lines", named('; name="email"', "a\r\nb"), "a\r\nb"],
    ["another field", named('; name="mail"'), ABSENT],
    ["an empty field", named('; name="email"', ""), ABSENT],
    ["a field twice", form(EMAIL, EMAIL), DOUBT],
    ["a field twice, in another case", form(EMAIL, EMAIL.replace("email", "eMail")), DOUBT],
    ["a file", named('; name="email"; filename="a"'), DOUBT],
    ["a file of another writing", named("; name=\"email\"; filename*=UTF-8''a"), DOUBT],
    ["a name twice", named('; name="a"; name="email"'), DOUBT],
    ["a name with an escape", named('; name="em\\ail"'), DOUBT],
    ["two heads", named(`; name="a"\r\n${CD}; name="email"`), DOUBT],
    ["a head that goes on in the next line", named(';\r\n name="email"'), DOUBT],
    ["another charset", named('; name="email"\r\nContent-Type: text/plain; charset=utf-7'), DOUBT],
    ["an encoding", named('; name="email"\r\nContent-Transfer-Encoding: base64'), DOUBT],
    ["a form within", named('; name="a"\r\nContent-Type: multipart/mixed; boundary=y'), DOUBT],
    ["text in front of it", `text\r\n${form(EMAIL)}`, DOUBT],
    ["text behind it", `${form(EMAIL)}text`, DOUBT],
    ["no end", form(EMAIL).replace("--x--", "--x"), DOUBT],
    ["lines that end with LF", form(EMAIL).replaceAll("\r", ""), DOUBT],
    ["a part that hides another", named('; name="a"', `\n--x\n${CD}; name="email"\n\nann`), DOUBT],
    ["a boundary that only begins alike", named('; name="a"', `\r\n--xy\r\n${EMAIL}`), DOUBT],
    [
      "a name that is not UTF-8",
      bytes(`--x\r\n${CD}; name="`, [0xff], `"\r\n\r\n1\r\n--x\r\n${EMAIL}\r\n--x--`),
      DOUBT,
    ],
    ["JSON", '{"email":"ann"}', DOUBT],
    ["an empty form", "--x--\r\n", ABSENT],
    ["no head", "--x\r\nann\r\n--x--", DOUBT],
  ])("%s", async (_, body, expected) => {
    expect(await valueOfBody("email", body, MULTIPART)).toBe(expected);
  });

  it("is what FormData writes, with files", async () => {
    const all = new FormData();
    all.append("photo", new Blob([new Uint8Array([0xff, 0xd8, 0, 13, 10, 0x9d])], { type: "image/jpeg" }), 'a "b".jpg');
    all.append("user[name]", "Ann");
    all.append("email", "änn@example.com");
    expect(await valueOfBody("email", all)).toBe("änn@example.com");
    expect(await valueOfBody("photo", all)).toBe(DOUBT);
    expect(await valueOfBody("mail", all)).toBe(ABSENT);
  });

  it.each([
    ['multipart/form-data; boundary="x"', "ann"],
    ["multipart/form-data; charset=utf-8; boundary=x", "ann"],
    ["multipart/form-data", DOUBT],
    ["multipart/form-data; boundary=y; boundary=x", DOUBT],
    ["multipart/form-data; boundary=y", DOUBT],
  ])("has one boundary: %s", async (type, expected) => {
    expect(await valueOfBody("email", bytes(form(EMAIL)), { "Content-Type": type })).toBe(expected);
  });
});

describe("what a parser in front has made", () => {
  const parsed = (path: string, json: unknown, type = FORM_TYPE["Content-Type"]) =>
    valuesIn({ length: 1, json, isClear: true }, new Headers({ "Content-Type": type }))(path);

  it.each<[what: string, path: string, json: unknown, expected: BodyValue]>([
    ["a field", "email", { email: "ann" }, "ann"],
    ["an object without a prototype", "email", Object.assign(Object.create(null), { email: "ann" }), "ann"],
    ["brackets that became members", "user[email]", { user: { email: "ann" } }, "ann"],
    ["members behind dots", "user.email", { user: { email: "ann" } }, "ann"],
    ["a field twice", "email", { email: ["ann", "bob"] }, DOUBT],
    ["what became an object", "email", { email: { 0: "ann" } }, DOUBT],
    ["another case", "email", { Email: "ann" }, DOUBT],
    ["a list as it was sent", "email", { "email[]": "ann" }, DOUBT],
    ["what objects inherit", "toString", {}, ABSENT],
  ])("of a form: %s", (_, path, json, expected) => {
    expect(parsed(path, json)).toBe(expected);
  });

  it("of JSON", () => {
    expect(parsed("user.email", { user: { email: "ann" } }, "application/json")).toBe("ann");
    expect(parsed("email", { email: "ann", Email: "bob" }, "application/json")).toBe(DOUBT);
    expect(parsed("toString", {}, "application/json")).toBe(ABSENT);
  });
});
