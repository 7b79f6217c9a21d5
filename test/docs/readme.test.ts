// The first page: its length, its commands, its picture and what it says of the benchmarks.

import { expect, it } from "vitest";
import { templateFiles } from "../../src/cli/init/template.ts";
import { blocksOf, commandsOf, measured, read, tableIn } from "./markdown.ts";

const README = read("README.md");

const [FIRST = ""] = README.split(/^(?=## )/m);

it("has at most 160 lines", () => {
  expect(README.trimEnd().split("\n").length).toBeLessThanOrEqual(160);
});

it("has a first screen: one sentence, ten lines of Hono, how to start them, what they print; then `headgate init`", () => {
  expect(FIRST).toMatch(/^# headgate\n\n[A-Z][^.\n]+\.\n\n```ts\n\/\/ index\.ts\n/);
  expect(FIRST.trimEnd().split("\n").length).toBeLessThanOrEqual(52);
  const [code, start, ask, output, second] = blocksOf("README.md");
  expect([code, start, ask, output].map((block) => block!.language)).toEqual(["ts", "sh", "sh", "text"]);
  const lines = code!.text.split("\n").filter((line) => line !== "" && !line.startsWith("//"));
  expect(lines.length).toBeLessThanOrEqual(10);
  expect(commandsOf(second!)[0]).toBe("npx --yes headgate init demo");
});

it("begins with an example whose wait is not longer than its window", () => {
  const [, , , { text }] = blocksOf("README.md") as [unknown, unknown, unknown, { readonly text: string }];
  const [, wait] = /^Retry-After: (\d+)$/m.exec(text)!;
  const [, window] = /;w=(\d+)$/m.exec(text)!;
  expect(Number(wait)).toBeLessThanOrEqual(Number(window));
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
  expect(README).toContain("Run the tests with `npm ci && npm test`. Stop the gateway first");
  expect(read(".ci/run")).toContain("npm ci\nnpm test\n");
});

it("says what was measured", () => {
  const text = README.replaceAll(/\s+/g, " ");
  expect(text).toContain("one store call in 1,200 tries");
  const perThousand = measured("A client that hammers", "headgate, strict", "per 1000 requests");
  expect(measured("A client that hammers", "headgate, strict", "Redis calls")).toBe("1");
  expect(Math.round(1000 / Number(perThousand) / 100)).toBe(12);
  expect(text).toContain("adds less than a millisecond at the median, even if the store is 80 ms away");
  expect(Number(measured("Half of the limit, 80 ms to Redis", "headgate, leased", "added p50, ms"))).toBeLessThan(1);
});

it("says beside each other what the default and fixed windows can let through", () => {
  const worst = tableIn(README, "Algorithm, with 60 requests per minute").map((row) => row["Worst case in any 60 s"]);
  expect(worst).toEqual(["60", `${2 * 60 - 1}`, `up to ${2 * 60}`]);
});

it("docs/start says of each algorithm what its own page says is its worst case", () => {
  const COLUMN = "Worst case in any window";
  const page = tableIn(read("docs/algorithms.md"), "`algorithm`");
  const mostOf = (name: string) => page.find(({ algorithm }) => algorithm === name)![COLUMN]!;
  const chosen = tableIn(read("docs/start/algorithm.md"), "You want").map((row) => {
    const [, name = ""] = /^`?([a-z-]+)/.exec(row.Use!)!;
    const isWhole = row.Use!.includes('oldest = "whole"');
    return {
      name: isWhole ? `${name}\`, \`oldest = "whole"` : name,
      most: row[COLUMN]!.replaceAll("`", "").split(/[:,]/)[0]!,
    };
  });
  expect(chosen).toHaveLength(8);
  expect(chosen).toEqual(
    chosen.map(({ name }) => ({ name, most: name === "concurrency" ? "no window" : mostOf(name) })),
  );
  expect(mostOf('sliding-window`, `oldest = "whole"')).toBe(mostOf("sliding-log"));
});

it("shows the policies that `headgate init` writes", () => {
  const [policies] = blocksOf("README.md", "toml");
  expect(templateFiles("demo", "1.0.0")["wrangler.toml"]).toContain(policies!.text);
});
