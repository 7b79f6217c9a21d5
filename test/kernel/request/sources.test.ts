// Every key source works everywhere that key sources are used.

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parsePolicies } from "../../../src/features/configuration.ts";
import { clientKey } from "../../../src/kernel/http/key.ts";
import { keyByHand } from "../../../src/kernel/limiter/key-by-hand.ts";
import { noteBodyTexts } from "../../../src/kernel/request/body-texts.ts";
import { noteClaims } from "../../../src/kernel/request/claims.ts";
import { formOf, KEY_SOURCES } from "../../../src/kernel/request/sources.ts";

const request = new Request("https://gate.example/?name=q", {
  headers: { "CF-Connecting-IP": "192.0.2.1", Authorization: "Bearer t", name: "h", Cookie: "name=c" },
});
Object.defineProperty(request, "cf", { value: { country: "DE", asn: 64496 } });
noteClaims(request, { issuer: "https://id.example.com", values: new Map([["name", "ann"]]) });
noteBodyTexts(request, new Map([["name", "b"]]));

const written = (name: string) =>
  Object.keys(KEY_SOURCES).map((source) => (formOf(source).name ? `${source}:${name}` : source));

describe.each(written("name"))("the source %s", (kind) => {
  const parsed = parsePolicies([{ name: "one", key: kind, limits: [{ limit: 1, window: "1s" }] }], "POLICIES");
  const policies = parsed.mistakes ? [] : parsed.value;

  it("may be a policy's key", () => {
    expect(policies.map(({ key }) => key)).toEqual([[kind]]);
  });

  it("is read from a request, and names the same client when it is given by hand", () => {
    const key = clientKey([kind], request, () => "eu");
    expect(key).toMatchObject({ kind, values: [expect.stringMatching(/./)] });
    expect(keyByHand(policies[0]!, { kind, key: key.values }, 64)).toEqual(key);
  });
});

it.each(["docs/errors.md", "src/kernel/config/policy-input.ts"])("%s names every source", (file) => {
  const text = readFileSync(new URL(`../../../${file}`, import.meta.url), "utf8");
  for (const form of written("<name>")) expect(text).toContain(`\`${form}\``);
});
