// bench/results/failures.md has a row for every fault that the tests can cause, and each row names a test of it.

import { existsSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { FAULTS } from "../support/faults/fault-rig.ts";

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const page = read("bench/results/failures.md");
const [, described = "", measured = ""] = page.split(/^## (?:Each fault|Measured)$/m);
const rows = (text: string) =>
  [...text.matchAll(/^\| `([a-z0-9-]+)`.*$/gm)].map(([row, fault]) => [fault!, row] as const);

it("describes every fault, and no other, in the order of the proxy", () => {
  expect(rows(described).map(([fault]) => fault)).toEqual(Object.keys(FAULTS));
});

it.each(rows(described))("names the test of %s", (fault, row) => {
  const [, test = ""] = /`(test\/[\w/-]+\.test\.ts)` \|$/.exec(row) ?? [];
  expect(read(test)).toContain(`"${fault}"`);
});

it("has measured every fault", () => {
  expect(rows(measured).map(([fault]) => fault)).toEqual(Object.keys(FAULTS));
});

it("names no other test that does not exist", () => {
  const named = [...page.matchAll(/`(test\/[\w/-]+\.test\.ts)`/g)].map(([, path]) => path!);
  expect(named.filter((path) => !existsSync(new URL(`../../${path}`, import.meta.url)))).toEqual([]);
});
