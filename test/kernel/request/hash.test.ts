import { createHmac } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ClientKey, partitionHasher } from "../../../src/kernel/request/hash.ts";
import { draws } from "../../support/cases/draws.ts";

const hash = partitionHasher("secret", "token");

const hmac = (key: string | Buffer, text: string) => createHmac("sha256", key).update(text).digest();

it("is HMAC-SHA-256 over kind and length-prefixed values, cut to 128 bits, in base64url, of any length", () => {
  const values = ["192.0.2.1", ...Array.from({ length: 300 }, (_, length) => "a".repeat(length))];
  for (const value of values) {
    const expected = hmac("secret", `2:ip${value.length}:${value}`).subarray(0, 16).toString("base64url");
    expect(hash({ kind: "ip", values: [value] })).toBe(expected);
  }
});

it.each([0, 63, 64, 65, 200])("takes a secret of %i bytes", (length) => {
  const secret = "s".repeat(length);
  const expected = hmac(secret, "2:ip1:a").subarray(0, 16).toString("base64url");
  expect(partitionHasher(secret, "token")({ kind: "ip", values: ["a"] })).toBe(expected);
});

it("derives its key from the store's token when there is no secret, so that the token is never one", async () => {
  const key: ClientKey = { kind: "ip", values: ["192.0.2.1"] };
  const derived = hmac(hmac("token", "headgate key secret"), "2:ip9:192.0.2.1").subarray(0, 16).toString("base64url");
  expect(await partitionHasher(undefined, "token")(key)).toBe(derived);
  const others = [partitionHasher("token", ""), partitionHasher(undefined, "another"), partitionHasher("secret", "")];
  const partitions = await Promise.all(others.map((other) => other(key)));
  expect(new Set([derived, ...partitions]).size).toBe(4);
});

describe("no two clients share a partition", () => {
  it("whatever is tried on the encoding", () => {
    const texts = [
      "",
      "a",
      "a1:b",
      "1:a1:b",
      '"',
      "é",
      "e\u0301",
      "\ud800",
      "\udbff",
      "\ufffd",
      "\\ud800",
      "\ud800\udc00",
    ];
    const long = ["a".repeat(600), `${"a".repeat(599)}b`];
    const tricky: ClientKey[] = [...texts, ...long].map((one) => ({ kind: "ip", values: [one] }));
    for (const kind of ["ip", "ipa", "2:ip1:a", "header:x"]) tricky.push({ kind, values: [] });
    expect(new Set(tricky.map((key) => hash(key))).size).toBe(tricky.length);
  });

  it("that only cut the same text at other places", async () => {
    const text = fc.string({
      unit: fc.constantFrom("a", "1", ":", "}", "\0", "\ud800", "😀"),
      minLength: 2,
      maxLength: 9,
    });
    const cuts = fc.uniqueArray(fc.nat(9), { maxLength: 3 });
    const property = fc.asyncProperty(text, cuts, cuts, async (whole, first, second) => {
      const [one, other] = [first, second].map((places) => {
        const at = [0, ...places.sort((a, b) => a - b), whole.length];
        const [kind = "", ...values] = at.slice(1).map((end, i) => whole.slice(at[i], end));
        return { kind, values };
      });
      const same = JSON.stringify(one) === JSON.stringify(other);
      expect((await hash(one!)) === (await hash(other!))).toBe(same);
    });
    await fc.assert(property, draws(1_000));
  });
});
