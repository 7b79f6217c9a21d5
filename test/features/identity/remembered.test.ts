// What an isolate remembers of tokens: good ones and bad ones cost one signature check each, in bounded memory.

import { beforeEach, describe, expect, it, vi } from "vitest";
import { createKeySet } from "../../../src/features/identity/key-set.ts";
import { createTokens } from "../../../src/features/identity/tokens.ts";
import { AUDIENCE, jwkOf, type KeyServer, pairOf, startKeyServer, tokenOf, withKeys } from "../../support/issuer.ts";

const pair = pairOf("one", "ES256");
const forger = { ...pairOf("one", "ES256"), kid: "one" };
const START_MS = 1_800_000_000_000;
const ISSUER = "https://id.example.com";

const remembered = { bytes: 20_000, bad: 30 };

let clock: { nowMs: number };
let lines: object[];
let server: KeyServer;
let verify: (token: string) => Promise<ReadonlyMap<string, string> | undefined>;
const watched = () => vi.spyOn(crypto.subtle, "verify");
let checks: ReturnType<typeof watched>;

beforeEach(async () => {
  clock = { nowMs: START_MS };
  lines = [];
  server = await startKeyServer(withKeys(jwkOf(pair)));
  const timing = { nowMs: () => clock.nowMs, sleep: (ms: number) => new Promise<void>((done) => setTimeout(done, ms)) };
  const report = (line: object) => void lines.push(line);
  const keys = createKeySet(server.url, { timing, report });
  const issuers = [{ issuer: ISSUER, audience: [AUDIENCE, "shop"], keys }];
  const names = ["sub", "org.id", "https://example.com/plan", "https://example.com/org.name"];
  const tokens = createTokens({ issuers, names, waitMs: 10_000, timing, report, remembered });
  verify = async (token) => (await tokens(token, undefined))?.values;
  checks = watched();
});

const BASE = { iss: ISSUER, aud: AUDIENCE, sub: "ann", exp: START_MS / 1000 + 600 };
const token = (more: object = {}, by = pair) => tokenOf(by, { alg: "ES256", kid: "one" }, { ...BASE, ...more });
const ann = new Map([["sub", "ann"]]);

describe("a claim", () => {
  it.each<[claims: object, values: object]>([
    [{ org: { id: "acme" } }, { "org.id": "acme" }],
    [{ "org.id": "flat", org: { id: "acme" } }, { "org.id": "flat" }],
    [{ "https://example.com/plan": "pro" }, { "https://example.com/plan": "pro" }],
    [{ "https://example.com/org": { name: "acme" } }, { "https://example.com/org.name": "acme" }],
    [{ org: "acme" }, {}],
    [{ org: { id: { id: "acme" } } }, {}],
    [{ org: ["acme"] }, {}],
    [{ org: null }, {}],
  ])("of %j is found inside others: %j", async (claims, values) => {
    expect(await verify(token(claims))).toEqual(new Map([...ann, ...Object.entries(values)]));
  });
});

it("a good token costs one signature check, until it has expired or the keys change", async () => {
  const one = token();
  for (let i = 0; i < 10; i++) expect(await verify(one)).toEqual(ann);
  expect(checks).toHaveBeenCalledTimes(1);
  clock.nowMs += 600_000 + 59_999;
  expect(await verify(one)).toEqual(ann);
  clock.nowMs++;
  expect(await verify(one)).toBeUndefined();

  const other = token({ exp: BASE.exp + 36_000 });
  expect(await verify(other)).toEqual(ann);
  server.answer = withKeys(jwkOf(pairOf("one", "ES256")));
  clock.nowMs += 21 * 60_000;
  expect(await verify(other)).toBeUndefined();
});

it("a bad token costs one signature check, and counts once it is valid", async () => {
  const bad = [token({}, forger), token({ aud: "other" }), token({ exp: BASE.exp - 661 })];
  for (let i = 0; i < 10; i++) for (const one of bad) expect(await verify(one)).toBeUndefined();
  expect(checks).toHaveBeenCalledTimes(3);

  const early = token({ nbf: BASE.exp - 300 });
  for (let i = 0; i < 10; i++) expect(await verify(early)).toBeUndefined();
  expect(checks).toHaveBeenCalledTimes(4);
  clock.nowMs += 240_000;
  expect(await verify(early)).toEqual(ann);
});

it("a flood of bad tokens pushes out no good one, and good ones push out each other by their size", async () => {
  const one = token();
  await verify(one);
  const [head, body] = one.split(".");
  for (let i = 0; i < 300; i++) await verify(`${head}.${body}.${Buffer.from(`${i}`).toString("base64url")}`);
  checks.mockClear();
  expect(await verify(one)).toEqual(ann);
  expect(checks).not.toHaveBeenCalled();

  // Each of them is remembered with 4,000 bytes or more, and at most 40,000 bytes are kept.
  for (let i = 0; i < 12; i++) expect(await verify(token({ sub: `${i}`.padEnd(2_000, "x") }))).toBeDefined();
  checks.mockClear();
  await verify(one);
  expect(checks).toHaveBeenCalledTimes(1);
});

it("says in the log why tokens do not count, once for each reason, and never shows a token", async () => {
  const bad = [token({}, forger), token({ aud: "other" }), token({ iss: "https://id.example.com/" }), "a.b.c"];
  for (let i = 0; i < 3; i++) for (const one of bad) await verify(one);
  const shown = { event: "token-unverified", issuer: ISSUER };
  expect(lines).toEqual([
    { ...shown, code: "ERR_JWS_SIGNATURE_VERIFICATION_FAILED" },
    { ...shown, code: "ERR_JWT_CLAIM_VALIDATION_FAILED", claim: "aud" },
    { event: "token-unverified", code: "ERR_JWT_CLAIM_VALIDATION_FAILED", claim: "iss" },
  ]);
  clock.nowMs += 600_000;
  await verify(token({ iss: "https://id.example.com/" }));
  expect(lines).toHaveLength(4);
});
