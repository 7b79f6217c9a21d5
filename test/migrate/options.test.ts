// docs/migrate/options.md: it has every option of the packages' types, and what it says of headgate runs.

import { expect, it } from "vitest";
import { rateLimit } from "../../src/adapters/hono.ts";
import { type Limiter, live, memoryStore, redisStore } from "../../src/index.ts";
import { fakeClock, storeAt } from "../../src/testing/index.ts";
import { createLimiter as limiterWith } from "../support/limiter.ts";
import { membersOf, namesInTables, readText } from "./guide.ts";

const [[, ...PEERS], , ...CELLS] = readText("docs/migrate/options.md")
  .split(/\n\n/)[2]!
  .split("\n")
  .map((line) => line.split(/ ?\| ?/)) as [string[], string[], ...string[][]];
/** Each row, by the heading of the column. */
const ROWS = CELLS.map(([, ...cells]) => Object.fromEntries(cells.map((cell, i) => [PEERS[i]!, cell])));

const namesIn = (peer: string) =>
  new Set(ROWS.flatMap((row) => [...row[peer]!.matchAll(/`(\w+)`/g)].map(([, name]) => name!)));

const types = (file: string) => readText(`node_modules/${file}`);
const HONO = types("hono-rate-limiter/dist/index.d.ts");
const UPSTASH = types("@upstash/ratelimit/dist/index.d.ts");
const FLEXIBLE = types("rate-limiter-flexible/types.d.ts");

const ofHono = ["CommonConfigType<", "HonoConfigType<", "KeyGeneratorType<", "CloudflareConfigType<", "Options = {"];
const ofUpstash = ["RegionRatelimitConfig = {", "MultiRegionRatelimitConfig = {"];
const ofFlexible = [...FLEXIBLE.matchAll(/^(?:export )?interface (\w*(?:Options|Opts)\w*) /gm)]
  .map(([, name]) => name!)
  // This interface holds the attributes of a MongoDB call.
  .filter((name) => name !== "IRateLimiterMongoFunctionOptions");
const OPTIONS: Readonly<Record<string, string[]>> = {
  "hono-rate-limiter": ofHono.flatMap((type) => membersOf(HONO, `type ${type}`, " {4}")),
  "express-rate-limit": membersOf(types("express-rate-limit/dist/index.d.ts"), "export type Options = {", "\t"),
  "@upstash/ratelimit": ofUpstash.flatMap((type) => membersOf(UPSTASH, `type ${type}`, " {4}")),
  "rate-limiter-flexible": ofFlexible.flatMap((name) => membersOf(FLEXIBLE, `interface ${name} `, " {4}")),
};

it.each(Object.entries(OPTIONS))(
  "has every option of %s, and no other; its guide names only some of them",
  (peer, options) => {
    expect([...namesIn(peer)].sort()).toEqual([...new Set(options)].sort());
    const headings = ["Options", "Options of rateLimiter", "Options of the constructor"];
    const named = namesInTables(peer.replace("@upstash/", "upstash-"), ...headings);
    expect(named).not.toEqual([]);
    expect(named.filter((name) => !options.includes(name))).toEqual([]);
  },
);

it("the guides from rate-limiter-flexible and from Upstash have every method and class", () => {
  const classes = [...FLEXIBLE.matchAll(/^export class (\w+)/gm)].map(([, name]) => name!);
  const flexible = [...membersOf(FLEXIBLE, "export class RateLimiterAbstract {", " {4}"), ...classes];
  // Fields are options. Programs do not use the base classes directly.
  const isPart = (name: string) =>
    OPTIONS["rate-limiter-flexible"]!.includes(name) || /^constructor$|Abstract$|Error$/.test(name);
  const ofGuide = namesInTables("rate-limiter-flexible", "Methods and classes");
  expect(flexible.filter((name) => !isPart(name) && !ofGuide.includes(name))).toEqual([]);

  const members = ["declare abstract class Ratelimit<", "type RatelimitResponse = {"].flatMap((start) =>
    membersOf(UPSTASH, start, " {4}").filter((name) => name !== "constructor"),
  );
  const algorithms = [...UPSTASH.matchAll(/^ {4}static (\w+)\(/gm)].map(([, name]) => name!);
  const named = namesInTables("upstash-ratelimit", "Methods", "Algorithms");
  expect([...members, ...algorithms].filter((name) => !named.includes(name))).toEqual([]);
});

const BASE = { name: "api", key: ["ip"], limits: [{ limit: 5, window: "1m" }] };
type Fields = Readonly<Record<string, unknown>>;
/** A mistake in a policy, or in options, is thrown. */
const createLimiter = (options: Fields) =>
  limiterWith({ store: memoryStore(), onDecision() {}, policies: [BASE as never], ...options });

/** What a page's code is evaluated with. */
const SCOPE = {
  limiter: createLimiter({}),
  rateLimit: (limiter: Limiter, options: Fields) => rateLimit(limiter, { clientIp: "socket", ...options } as never),
  createLimiter: ({ features, ...options }: Fields) =>
    createLimiter(features ? { features, store: redisStore({ url: "https://r.example.com", token: "t" }) } : options),
  ...{ live, memoryStore, redisStore, storeAt, fakeClock, seen: [], command: async () => [] },
  keySecret: "a secret of this test",
};
const evaluate = (code: string): unknown =>
  new Function(...Object.keys(SCOPE), `return (${code});`)(...Object.values(SCOPE));

const codesOf = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map(([, code]) => code!);
/** Fields of a policy, or a call. */
const isOurs = (code: string) => /^[{]|\w\(.+\)$/.test(code);
const OURS = [...new Set(ROWS.flatMap(({ headgate }) => codesOf(headgate!).filter(isOurs)))];

// What each of them does is tested where it is made: here it is accepted as it stands.
it.each(OURS)("headgate takes what the page shows: %s", async (code) => {
  const value = (await evaluate(code)) as Fields | undefined;
  if (code.startsWith("{")) expect(createLimiter({ policies: [{ ...BASE, ...value }] }).policies).toHaveLength(1);
  // A reset says nothing.
  else if (!code.startsWith("limiter.reset(")) expect(value).toBeTruthy();
});

it("takes no field and no option that there is not", () => {
  expect(OURS.length).toBeGreaterThan(30);
  expect(() => createLimiter({ policies: [{ ...BASE, skipFailed: true }] })).toThrow(/skipFailed/);
  for (const code of ["rateLimit(limiter, { max: 5 })", "createLimiter({ prefix: 5 })"]) {
    expect(() => evaluate(code)).toThrow(/max|prefix/);
  }
});

it("every row has code that runs, or says that there is none, and why", () => {
  const without = ROWS.filter(({ headgate }) => !codesOf(headgate!).some(isOurs));
  const saysWhy = /^none(?: [a-z ]+)?(?::|\.) .{20}|none(?: is)? needed: .{20}|: none, because/;
  expect(without.filter(({ headgate }) => !saysWhy.test(headgate!))).toEqual([]);
});
