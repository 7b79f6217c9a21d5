// The first page: its length, its commands, its picture and its figures. Each figure equals the page that measured it.

import { parse } from "smol-toml";
import { expect, it } from "vitest";
import { blocksOf, commandsOf, MEASURED, measured, read, sectionOf, tableIn } from "./markdown.ts";

const README = read("README.md");

const [FIRST = ""] = README.split(/^(?=## )/m);

it("has at most 150 lines", () => {
  expect(README.trimEnd().split("\n").length).toBeLessThanOrEqual(150);
});

it("has a first screen: one sentence, the picture, ten lines of Hono, what they print, four bullets with links", () => {
  expect(FIRST).toMatch(/^# headgate\n\n[A-Z][^.\n]+\.\n\n!\[[^\]]{20,}\]\(docs\/overview\.svg\)\n\n```ts\n/);
  expect(FIRST.trimEnd().split("\n").length).toBeLessThanOrEqual(50);
  const [code, command, output] = blocksOf("README.md");
  expect([code, command, output].map((block) => block!.language)).toEqual(["ts", "sh", "text"]);
  expect(code!.text.split("\n").filter((line) => line !== "").length).toBeLessThanOrEqual(10);
  const bullets = FIRST.split(/^(?=- )/m).slice(1);
  expect(bullets).toHaveLength(4);
  for (const bullet of bullets) expect(bullet).toMatch(/\]\((?:docs|site)\//);
  // No figures before the reader knows what it is.
  const prose = FIRST.replaceAll(/```[\s\S]*?```|\]\([^)]*\)|1\.0\.0-rc\.1|\b429\b/g, "");
  expect(prose).not.toMatch(/\d/);
});

it("has the picture in words too, with the answer that the block below shows", () => {
  const picture = read("docs/overview.svg");
  expect(picture).toMatch(/<title id="t">.{20,}<\/title>\n<desc id="d">.{200,}<\/desc>/);
  expect(picture).toContain("@media (prefers-color-scheme:dark)");
  const [, path, status, wait] = />GET (\/\w+)<[\s\S]*>(\d{3})<[\s\S]*>(Retry-After: \d+)</.exec(picture)!;
  const [, answer] = blocksOf("README.md", "text");
  expect(answer!.text).toContain(`HTTP/1.1 ${status} Too Many Requests\n${wait}\n`);
  expect(README).toContain(`curl -si localhost:8787${path} `);
});

it("names the two commands of a clone, which continuous integration runs", () => {
  expect(blocksOf("README.md", "sh").map((block) => commandsOf(block)[0])).toContain("npm ci && npm start");
  expect(README).toContain("The tests are `npm ci && npm test`. Stop the gateway before");
  expect(read(".ci/run")).toContain("npm ci\nnpm test\n");
});

it("tells the figures that were measured, and no other", () => {
  const clocks = /clocks are ([\d.]+) s fast and ([\d.]+) s slow/.exec(sectionOf(MEASURED, "Truth"))!;
  const worst = (row: string) => measured("Admitted in the worst true window / limit", row, "skewed");
  const cpu = (limits: string) => measured(`${limits}, admitted`, "headgate sliding-window", CPU);
  const CPU = "CPU / @upstash/ratelimit slidingWindow";
  const HALF = "Half of the limit, 80 ms to Redis";
  const p50 = (row: string) => measured(HALF, row, "added p50, ms");
  const shared = tableIn(sectionOf(MEASURED, HALF), "").filter((cells) => !/^headgate|\*$/.test(cells[""]!));
  const hammered = (row: string) => measured("A client that hammers", row, "Redis calls");
  const [, perSecond] = /requests at (\d+) per second/.exec(sectionOf("bench/results/failures.md", "Measured"))!;
  const faults = tableIn(sectionOf("bench/results/failures.md", "Measured"), "fault");

  const rows = [
    [Number(clocks[1]) + Number(clocks[2]), worst("headgate sliding-log"), worst("rate limit binding")],
    [60, 2 * 60 - 1, "2", "1"],
    ["refused again", "needless"].map((column) => waits(column)),
    ["8", "1", cpu("8 limits"), cpu("1 limit")],
    [
      hammered("@upstash/ratelimit slidingWindow, no cache"),
      hammered("headgate, strict"),
      hammered("@upstash/ratelimit slidingWindow, no cache"),
    ],
    ["80", p50("headgate, leased"), Math.min(...shared.map((row) => Number(row["added p50, ms"])))],
    [perSecond, "350", faults.length, "500"],
  ];
  const told = tableIn(sectionOf("README.md", "What was measured"), "What").map((row) =>
    [
      ...Object.values(row)
        .join(" ")
        .replaceAll(/\]\([^)]*\)/g, "")
        .matchAll(/\d[\d.,]*\d|\d/g),
    ].map(([figure]) => figure.replaceAll(",", "")),
  );
  expect(told).toEqual(rows.map((row) => row.map(String)));
  expect(faults.map((row) => row["within 350 ms"])).toEqual(faults.map(() => "100.0 %"));
  expect(faults.filter((row) => /\b500\b/.test(row.answers!))).toEqual([]);
  expect(measured("A client that hammers", "@upstash/ratelimit slidingWindow, no cache", "per 1000 requests")).toBe(
    "1000",
  );
});

/** The largest value in this column over all algorithms of headgate, in percent. */
function waits(column: string): string {
  const rows = tableIn(sectionOf(MEASURED, "The promised wait"), "").filter((cells) =>
    cells[""]!.startsWith("headgate"),
  );
  expect(rows.length).toBeGreaterThan(3);
  return String(Math.max(...rows.map((row) => Number.parseFloat(row[column]!))));
}

it("docs/start says of each algorithm what its own page says that one true window can hold", () => {
  const COLUMN = "Most in one true window";
  const page = tableIn(read("docs/algorithms.md"), "`algorithm`");
  const mostOf = (name: string) => page.find(({ algorithm }) => algorithm === name)![COLUMN]!;
  const chosen = tableIn(read("docs/start/algorithm.md"), "You want").map((row) => {
    const [, name = ""] = /^`?([a-z-]+)/.exec(row.Take!)!;
    const isWhole = row.Take!.includes('oldest = "whole"');
    return {
      name: isWhole ? `${name}\`, \`oldest = "whole"` : name,
      most: row[COLUMN]!.replaceAll("`", "").split(/[:,]/)[0]!,
    };
  });
  expect(chosen).toHaveLength(7);
  expect(chosen).toEqual(
    chosen.map(({ name }) => ({ name, most: name === "concurrency" ? "no window" : mostOf(name) })),
  );
  expect(mostOf('sliding-window`, `oldest = "whole"')).toBe(mostOf("sliding-log"));
});

it("has policies that make a whole configuration in place of the shipped ones", () => {
  const [gateway] = blocksOf("README.md", "toml");
  const [bindings, ...replaced] = read("wrangler.toml").split(/^(?=\[vars\]$)/m);
  expect(README).toContain("These lines replace `[vars]` and `default` in `wrangler.toml`.");
  expect(replaced.map((vars) => Object.keys(parse(vars)))).toEqual([["vars"]]);
  expect(() => parse(`${bindings}${gateway!.text}`)).not.toThrow();
  expect(() => parse(`${read("wrangler.toml")}${gateway!.text}`)).toThrow("redefine");
});
