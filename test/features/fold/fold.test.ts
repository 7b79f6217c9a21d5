// `fold`: all spellings of a name are one client, whoever names it.

import { describe, expect, it } from "vitest";
import { foldedKey } from "../../../src/features/fold/fold.ts";
import type { PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { createEnforce } from "../../support/http/enforce.ts";
import { createLimiter } from "../../support/limiter.ts";

const folded = (kind: string, ...values: string[]) => foldedKey({ kind, values }).values;

it.each<[what: string, given: string, expected: string]>([
  ["case", "Ann@Example.COM", "ann@example.com"],
  ["spaces around", "\u00a0 ann \t", "ann"],
  ["width", "ａｎｎ＠example．com", "ann@example.com"],
  ["ligatures", "oﬃce", "office"],
  ["composed letters", "e\u0301", "é"],
  ["a character with a space in its normal form", "ann\u00a8", "ann \u0308"],
  ["inner spaces stay", "Ann  B", "ann  b"],
  ["any number of spaces around", `${" ".repeat(5_000)}Ann${" ".repeat(5_000)}`, "ann"],
  ["what is behind 4,096 characters stays", `${"A".repeat(4_097)}`, `${"a".repeat(4_096)}A`],
])("folds %s", (_, given, expected) => {
  for (const kind of ["body:email", "header:x-user", "query:user", "cookie:user"]) {
    expect(folded(kind, given)).toEqual([expected]);
  }
});

it("folds only the parts of a key that people type", () => {
  expect(folded("bearer", "ToKen")).toEqual(["ToKen"]);
  expect(folded("header:x-user+bearer+jwt:sub+ip", "Ann", "ToKen", "https://Id Ann", "::A")).toEqual([
    ...["ann", "ToKen", "https://Id Ann", "::A"],
  ]);
  expect(folded("unread")).toEqual([]);
  expect(folded("key", "Ann")).toEqual(["Ann"]);
});

describe("a policy with fold", () => {
  const policies: PolicyInput[] = [
    { name: "login", key: ["header:x-user", "ip"], fold: true, limits: [{ limit: 9, window: "1d" }] },
    { name: "plain", key: ["header:x-user", "ip"], limits: [{ limit: 9, window: "1d" }] },
  ];
  const start = () => {
    const limiter = createLimiter({ policies, store: memoryStore() });
    const enforce = createEnforce({ limiter, rateLimitHeaders: "both", regionOf: () => "eu" });
    const send = (user: string) => {
      const headers = { "x-user": user, "CF-Connecting-IP": "192.0.2.1" };
      return enforce(new Request("https://gate.example/", { headers }), () => new Response());
    };
    const left = async (policy: string, key: string) =>
      (await limiter.peek(policy, { kind: "header:x-user", key })).remaining;
    return { limiter, send, left };
  };

  it("knows two spellings in one take: the units of one of them would be lost", async () => {
    const { limiter } = start();
    const takes = (policy: string) => ["Ann", "ann"].map((key) => ({ policy, kind: "header:x-user", key }));
    await expect(limiter.take(takes("login"))).rejects.toThrow("the same policy and key twice");
    expect((await limiter.take(takes("plain"))).allowed).toBe(true);
  });

  it("counts spellings as one, over HTTP and by hand, and a policy without it does not", async () => {
    const { limiter, send, left } = start();
    await send("Ann");
    await send("ANN");
    await limiter.take("login", { kind: "header:x-user", key: " ann" });
    expect([await left("login", "ann"), await left("login", "aNN")]).toEqual([6, 6]);
    expect([await left("plain", "Ann"), await left("plain", "ANN"), await left("plain", "ann")]).toEqual([8, 8, 9]);
  });
});
