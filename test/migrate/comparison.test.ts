// docs/comparison.md: its prices follow from bench/results/benchmarks.md.

import { expect, it } from "vitest";
import { SPREAD } from "../docs/markdown.ts";
import { readText } from "./guide.ts";

const BENCHMARKS = readText("bench/results/benchmarks.md");
const COMPARISON = readText("docs/comparison.md");
const DOLLARS_PER_MILLION_COMMANDS = (0.2 / 100_000) * 1e6;
const DOLLARS_PER_MILLION_REQUESTS = 0.3;

type Row = Record<string, string>;

/** The rows of the first table after `heading`, by their first cell. Each row maps a column's heading to the cell. */
function tableAfter(text: string, heading: string): Map<string, Row> {
  const at = text.indexOf(`${heading}\n`);
  if (at < 0) throw new Error(`expected the heading ${heading}`);
  const lines = text.slice(at).split("\n");
  const start = lines.findIndex((line) => line.startsWith("|"));
  const length = lines.slice(start).findIndex((line) => !line.startsWith("|"));
  const cellsOf = (line: string) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim().replace(SPREAD, ""));
  const [[, ...headings] = [], , ...rows] = lines.slice(start, start + length).map(cellsOf);
  return new Map(
    rows.map(([name, ...cells]) => [name!, Object.fromEntries(cells.map((cell, i) => [headings[i]!, cell]))]),
  );
}

const dollars = (amount: number) => amount.toFixed(2);
const cost = tableAfter(COMPARISON, "## Cost");

it.each([
  ["1 limit, admitted", "1 limit, admitted"],
  ["3 limits, admitted", "3 limits, admitted"],
  ["1 limit, refused", "1 limit, refused by Redis"],
])("a decision costs its commands: %s", (measured, column) => {
  const commands = tableAfter(BENCHMARKS, `### ${measured}`);
  for (const [name, row] of cost) {
    const price = Number(commands.get(name)!.commands) * DOLLARS_PER_MILLION_COMMANDS;
    expect([name, row[column]]).toEqual([name, dollars(price)]);
  }
});

it.each([
  ["headgate sliding-window", "headgate, strict"],
  ["@upstash/ratelimit slidingWindow", "@upstash/ratelimit slidingWindow, cache"],
  ["hono-rate-limiter (fixed window)", "hono-rate-limiter, Redis"],
])("a refused client that hammers costs what was measured, less the Worker: %s", (name, measured) => {
  const total = tableAfter(BENCHMARKS, "## Money").get(measured)!["a refused client that hammers"]!;
  const price = Number(total.replace("$", "")) - DOLLARS_PER_MILLION_REQUESTS;
  expect(cost.get(name)!["a refused client that hammers"]).toBe(dollars(price));
});

it("the table on top has the same prices", () => {
  const top = tableAfter(COMPARISON, "# headgate and others");
  const pairs = [
    ["headgate, strict, Redis", "headgate sliding-window"],
    ["`@upstash/ratelimit`", "@upstash/ratelimit slidingWindow"],
    ["hono-rate-limiter, Redis", "hono-rate-limiter (fixed window)"],
    ["rate-limiter-flexible, Redis", "rate-limiter-flexible (fixed window)"],
  ] as const;
  for (const [name, full] of pairs) {
    const { "1 limit, admitted": one, "3 limits, admitted": three } = cost.get(full)!;
    expect(Object.values(top.get(name)!).at(-1)).toBe(`${one} / ${three}`);
  }
  // A table that fits on one screen.
  expect(top.size + 2).toBeLessThanOrEqual(10);
});

it("names the versions that the guides were read against", () => {
  const { devDependencies } = JSON.parse(readText("package.json")) as { devDependencies: Record<string, string> };
  for (const name of ["@upstash/ratelimit", "hono-rate-limiter", "express-rate-limit", "rate-limiter-flexible"]) {
    const version = devDependencies[name]!;
    const guide = readText(`docs/migrate/${name.replace("@upstash/", "upstash-")}.md`);
    expect(guide).toContain(`\`${name}\` ${version}`);
    expect(COMPARISON.replaceAll("`", "")).toContain(`${name} ${version}`);
  }
});

it("a leased limit costs what was measured, less the Worker", () => {
  const total = tableAfter(BENCHMARKS, "## Money").get("headgate, leased")!["half of 12,000 per minute"]!;
  const price = Number(total.replace("$", "")) - DOLLARS_PER_MILLION_REQUESTS;
  expect(COMPARISON).toContain(`\`leased\` comes to $${dollars(price)},`);
});
