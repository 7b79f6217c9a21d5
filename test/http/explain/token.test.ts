import { expect, it } from "vitest";
import { createTokens, MAX_TEXT_BYTES } from "../../../src/http/explain/token.ts";
import { importSecret } from "../../../src/partition/hmac.ts";

const NOW_MS = Date.UTC(2026, 10, 22, 12, 59, 59, 400);
const tokensOf = (secret: string) => createTokens(() => importSecret(secret, "unused"));

it("are read for 10 minutes, over the change of the key, and by an isolate whose clock is behind", async () => {
  const token = await tokensOf("a").seal("told", NOW_MS);
  const open = (afterMs: number) => tokensOf("a").open(token, NOW_MS + afterMs);
  for (const afterMs of [0, 700, 599_000, -30_000]) expect(await open(afterMs)).toEqual({ text: "told" });
  for (const afterMs of [601_000, 3_600_000, 86_400_000, -601_000])
    expect(await open(afterMs)).toEqual({ wrong: "old" });
  expect(await tokensOf("b").open(token, NOW_MS)).toEqual({ wrong: "foreign" });
});

it("does not keep the key of an hour for another hour", async () => {
  const tokens = tokensOf("a");
  const [before, after] = [await tokens.seal("before", NOW_MS), await tokens.seal("after", NOW_MS + 1_000)];
  expect(await tokens.open(before, NOW_MS + 2_000)).toEqual({ text: "before" });
  expect(await tokens.open(after, NOW_MS + 2_000)).toEqual({ text: "after" });
});

it("the longest text makes a token of 2 KiB", async () => {
  const token = await tokensOf("a").seal("x".repeat(MAX_TEXT_BYTES), NOW_MS);
  expect(token.length).toBe(2_048);
  expect(await tokensOf("a").open(token, NOW_MS)).toEqual({ text: "x".repeat(MAX_TEXT_BYTES) });
});
