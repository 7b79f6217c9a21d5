// Every link in every Markdown file leads somewhere, and everything that the documents name exists.

import { execFileSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { expect, it } from "vitest";
import { ROOT, read } from "./markdown.ts";

const listed = execFileSync("git", ["ls-files", "-co", "--exclude-standard", "*.md"], { cwd: ROOT, encoding: "utf8" });
const PAGES = listed.split("\n").filter((path) => path !== "" && existsSync(join(ROOT, path)));

/** A page without its blocks and code spans, because links in them are examples. */
const prose = (page: string) =>
  read(page)
    .replaceAll(/^( *)```[\s\S]*?^\1```$/gm, "")
    .replaceAll(/`[^`\n]*`/g, "``");

/** The anchors that GitHub gives to the headings of a page. */
function anchorsOf(page: string): Set<string> {
  const seen = new Map<string, number>();
  const headings = read(page)
    .replaceAll(/^( *)```[\s\S]*?^\1```$/gm, "")
    .matchAll(/^#+ (.+)$/gm);
  const anchors = [...headings].map(([, heading]) => {
    const text = heading!.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase();
    const slug = text.replaceAll(/[^\p{L}\p{N}\s_-]/gu, "").replaceAll(" ", "-");
    const count = seen.get(slug) ?? 0;
    seen.set(slug, count + 1);
    return count === 0 ? slug : `${slug}-${count}`;
  });
  return new Set(anchors);
}

it.each(PAGES)("every relative link of %s leads to a file, and to a heading in it", (page) => {
  const links = [...prose(page).matchAll(/\]\((?!https?:)([^)\s#]*)(?:#([^)\s]*))?\)/g)];
  for (const [link, target = "", anchor] of links) {
    const path = target === "" ? page : join(dirname(page), target);
    expect(existsSync(join(ROOT, path)), `${link} in ${page}`).toBe(true);
    if (anchor !== undefined) expect(anchorsOf(path), `${link} in ${page}`).toContain(anchor);
  }
});

it("the shipped files of configuration, and the source, name no page and no heading that does not exist", () => {
  const files = execFileSync("git", ["ls-files", "src", "scripts", "examples", "wrangler.toml", ".dev.vars.example"], {
    cwd: ROOT,
    encoding: "utf8",
  });
  const named = files
    .split("\n")
    .filter((path) => /\.(?:tsx?|toml|example)$/.test(path) && existsSync(join(ROOT, path)))
    .flatMap((path) => [...read(path).matchAll(/\b(docs\/[\w/-]+\.md|[A-Z]+\.md)\b(?:#([\w-]+))?/g)]);
  expect(named.length).toBeGreaterThan(3);
  for (const [name, page = "", anchor] of named) {
    expect(existsSync(join(ROOT, page)), name).toBe(true);
    if (anchor !== undefined) expect(anchorsOf(page), name).toContain(anchor);
  }
});

it("every npm script that a page names exists", () => {
  const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
  const named = PAGES.flatMap((page) => [...read(page).matchAll(/npm (?:run (?:-s )?([a-z][\w:-]*)|(start|test)\b)/g)]);
  expect(named.length).toBeGreaterThan(50);
  expect(named.map(([, run, builtIn]) => (run ?? builtIn)!).filter((name) => !(name in scripts))).toEqual([]);
});

it("CONTRIBUTING.md has every npm script that is a command", () => {
  const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
  const commands = Object.keys(scripts).filter((name) => !/^pre/.test(name));
  const rows = [...read("CONTRIBUTING.md").matchAll(/^\| `npm (?:run )?([\w:-]+)` \|/gm)].map(([, name]) => name);
  expect(rows.sort()).toEqual(commands.sort());
});

it("every source file that a page names exists", () => {
  const named = PAGES.flatMap((page) =>
    [...read(page).matchAll(/`((?:src|lua|test|scripts)\/[\w./-]*)`/g)].map(([, path]) => ({ page, path: path! })),
  );
  expect(named.length).toBeGreaterThan(100);
  for (const { page, path } of named) {
    // test/README.md names its folders as they are called there.
    const found = [path, join(dirname(page), path)].find((one) => existsSync(join(ROOT, one)));
    expect(found, `${path} in ${page}`).toBeDefined();
    if (path.endsWith("/")) expect(statSync(join(ROOT, found!)).isDirectory(), `${path} in ${page}`).toBe(true);
  }
});

it("docs/architecture.md names every file by its present name, also where it leaves the folder out", () => {
  const files = execFileSync("git", ["ls-files", "src", "lua"], { cwd: ROOT, encoding: "utf8" }).split("\n");
  const present = new Set(files.map((path) => basename(path)));
  const named = [
    ...read("docs/architecture.md")
      .replaceAll(/`scripts\/.*?`/g, "")
      .matchAll(/\b[\w-]+(?:\.generated)?\.(?:ts|lua)\b/g),
  ];
  expect(named.length).toBeGreaterThan(50);
  expect(named.map(([name]) => name).filter((name) => !present.has(name))).toEqual([]);
});

/** Written by programs, and what one of them puts together. */
const GENERATED = /^docs\/api(?:\/[\w-]+)?\.md$|^bench\/(?:page\/|results\/benchmarks\.md$)/;

it.each(PAGES.filter((page) => !GENERATED.test(page)))("no line of prose in %s is longer than 120 columns", (page) => {
  const lines = read(page)
    .replaceAll(/^( *)```[\s\S]*?^\1```$/gm, "")
    .split("\n");
  // A link that stands alone cannot be broken.
  expect(lines.filter((line) => line.length > 120 && !/^(?:[|!]|\s*\[[^\]]*\](?:\(\S+\)|: \S+)$)/.test(line))).toEqual(
    [],
  );
});
