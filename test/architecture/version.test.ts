// Every place that names the version of the package.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import lock from "../../package-lock.json" with { type: "json" };
import { VERSION } from "../../src/kernel/version.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

it("src/kernel/version.ts and package-lock.json have the version of the package", () => {
  expect([VERSION, lock.version, lock.packages[""].version]).toEqual(Array(3).fill(packageJson.version));
});

it("CHANGELOG.md begins with the version of the package, below what is unreleased", () => {
  const headings = readFileSync(join(ROOT, "CHANGELOG.md"), "utf8").match(/^## .*$/gm)!;
  expect(headings[0]).toBe("## [Unreleased]");
  expect(headings[1]).toMatch(/^## \[.+\] - (?:\d{4}-\d\d-\d\d|not published yet)$/);
  expect(headings[1]).toContain(`[${packageJson.version}]`);
});

it("the examples install the tarball of this version", () => {
  const folder = join(ROOT, "examples");
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter(
    (file) => /(?:^|[\\/])(?:package\.json|README\.md)$/.test(file) && !file.includes("node_modules"),
  );
  const named = files.flatMap((file) => [
    ...readFileSync(join(folder, file), "utf8").matchAll(/headgate-(\d.*)\.tgz/g),
  ]);
  expect(named.length).toBeGreaterThan(10);
  expect([...new Set(named.map(([, version]) => version))]).toEqual([packageJson.version]);
});
