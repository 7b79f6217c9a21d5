// docs/comparison.md: its prices follow from bench/results/benchmarks.md.

import { expect, it } from "vitest";
import { measured, read, sectionOf, tableIn } from "../docs/markdown.ts";

const COMPARISON = read("docs/comparison.md");
const DOLLARS_PER_MILLION_COMMANDS = (0.2 / 100_000) * 1e6;
const DOLLARS_PER_MILLION_REQUESTS = 0.3;

/** The rows of the table under a heading of the page, by their first cell. */
const rowsOf = (heading: string) =>
  new Map(tableIn(sectionOf("docs/comparison.md", heading), "").map(({ "": name, ...cells }) => [name!, cells]));

/** What a limiter costs in a benchmark, less the Worker. */
const costOf = (limiter: string, load: string) =>
  dollars(Number(measured("Money", limiter, load).replace("$", "")) - DOLLARS_PER_MILLION_REQUESTS);

const dollars = (amount: number) => amount.toFixed(2);
const cost = rowsOf("Cost");

it.each([
  ["1 limit, admitted", "1 limit, admitted"],
  ["3 limits, admitted", "3 limits, admitted"],
  ["1 limit, refused", "1 limit, refused by Redis"],
])("a decision costs its commands: %s", (section, column) => {
  for (const [name, row] of cost) {
    const price = Number(measured(section, name, "commands")) * DOLLARS_PER_MILLION_COMMANDS;
    expect([name, row[column]]).toEqual([name, dollars(price)]);
  }
});

it.each([
  ["headgate sliding-window", "headgate, strict"],
  ["@upstash/ratelimit slidingWindow", "@upstash/ratelimit slidingWindow, cache"],
  ["hono-rate-limiter (fixed window)", "hono-rate-limiter, Redis"],
])("a refused client that hammers costs what was measured, less the Worker: %s", (name, limiter) => {
  const load = "a refused client that hammers";
  expect(cost.get(name)![load]).toBe(costOf(limiter, load));
});

it("the table on top has the same prices", () => {
  const top = rowsOf("headgate and others");
  const pairs = [
    ["headgate, strict, Redis", "headgate sliding-window"],
    ["@upstash/ratelimit", "@upstash/ratelimit slidingWindow"],
    ["hono-rate-limiter, Redis", "hono-rate-limiter (fixed window)"],
    ["rate-limiter-flexible, Redis", "rate-limiter-flexible (fixed window)"],
  ] as const;
  for (const [name, full] of pairs) {
    const { "1 limit, admitted": one, "3 limits, admitted": three } = cost.get(full)!;
    expect(Object.values(top.get(name)!).slice(-2)).toEqual([one, three]);
  }
  // A table that fits on one screen.
  expect(top.size + 2).toBeLessThanOrEqual(10);
});

it("names the versions that the guides were read against", () => {
  const { devDependencies } = JSON.parse(read("package.json")) as { devDependencies: Record<string, string> };
  for (const name of ["@upstash/ratelimit", "hono-rate-limiter", "express-rate-limit", "rate-limiter-flexible"]) {
    const version = devDependencies[name]!;
    const guide = read(`docs/migrate/${name.replace("@upstash/", "upstash-")}.md`);
    expect(guide).toContain(`\`${name}\` ${version}`);
    expect(COMPARISON.replaceAll("`", "").replaceAll(/\s+/g, " ")).toContain(`${name} ${version}`);
  }
});

it("a leased limit costs what was measured, less the Worker", () => {
  const price = costOf("headgate, leased", "half of 12,000 per minute");
  expect(COMPARISON).toContain(`\`leased\` costs $${price}.`);
});
