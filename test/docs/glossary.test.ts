// docs/glossary.md has words of the source, and the source has no longer the words that went.

import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT, read, tableIn } from "./markdown.ts";

/** What users have seen keeps its name: a member of what `headgate replay --suggest --json` prints. */
const SEEN = ["rungs"];
/** Of the words that went: those that prose needs in their English sense. They stand in no name. */
const ENGLISH = ["told", "owed", "grant", "tend", "silent", "missed"];

const files = execFileSync("git", ["ls-files", "-co", "--exclude-standard", "src"], { cwd: ROOT, encoding: "utf8" })
  .split("\n")
  .filter((path) => /(?<!\.generated)\.tsx?$/.test(path) && existsSync(join(ROOT, path)));
const source = files.map((path) => `${path}\n${read(path)}`).join("\n");

const words = tableIn(read("docs/glossary.md"), "Word").map(({ Word }) => Word!);
/** Nobody writes these any more: each had several meanings, or hid a common one. */
const GONE = {
  told: "reply, remembered, stated or status, whichever it was",
  "far algorithm": "algorithm",
  owed: "debt",
  stock: "leased units",
  grant: "leased units",
  unspend: "return",
  tend: "repay, or the name of what is done",
  silent: "unanswered",
  missed: "unanswered",
  rung: "candidate",
  ladder: "candidate",
};
const gone = Object.keys(GONE);

/** Finds a word in any spelling of names and prose: `limit key`, `limitKey`, `limit-keys`. */
const anySpelling = (word: string) => new RegExp(word.split(" ").join("[\\s*/_-]*"), "i");

it("has the words of one screen, and none of them twice", () => {
  expect(words.length).toBeGreaterThan(30);
  expect(words.length).toBeLessThan(51);
  expect(words.filter((word, at) => words.indexOf(word) !== at)).toEqual([]);
});

it("has no word that the source does not have", () => {
  expect(words.filter((word) => !anySpelling(word).test(source))).toEqual([]);
});

it("has every type of the source that bears a word of the glossary under that word only once", () => {
  const names = files.flatMap((path) =>
    [...read(path).matchAll(/^export (?:type|interface|class) (\w+)/gm)].map(([, name]) => name!),
  );
  const isWord = new Set(words.map((word) => partsOf(word)));
  const collide = names.filter((name, at) => names.indexOf(name) !== at && isWord.has(partsOf(name)));
  expect(collide).toEqual([]);
});

describe("a word that went", () => {
  const prose = execFileSync("git", ["ls-files", "*.md", "lua/*.lua"], { cwd: ROOT, encoding: "utf8" })
    .split("\n")
    .filter((path) => path !== "" && path !== "docs/glossary.md" && existsSync(join(ROOT, path)));

  it.each(gone)("%s is in no name of the source", (word) => {
    const found = files.flatMap((path) =>
      [path, ...namesIn(read(path))]
        .filter((name) => !SEEN.includes(name) && partsOf(name).includes(` ${word} `))
        .map((name) => [path, name]),
    );
    expect(found).toEqual([]);
  });

  it.each(gone.filter((word) => !ENGLISH.includes(word)))("%s is in no comment, no text and no page", (word) => {
    const found = [...files, ...prose].flatMap((path) => {
      const lines = withoutSeen(read(path)).split("\n");
      return lines.filter((line) => partsOf(line).includes(` ${word} `)).map((line) => [path, line]);
    });
    expect(found).toEqual([]);
  });
});

function withoutSeen(text: string): string {
  return text.replaceAll(new RegExp(`\\b(?:${SEEN.join("|")})\\b`, "g"), "");
}

/** The names in a file: what is left without its comments and texts. */
function namesIn(code: string): string[] {
  const names = code.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\$]|\\.)*`/g, " ");
  return [...new Set(names.match(/[A-Za-z_$][\w$]*/g))];
}

/** `toldCounts` as ` told count `: the parts of a name, in the singular. */
function partsOf(name: string): string {
  const parts = name
    .replaceAll(/([a-z\d])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z]+/);
  return ` ${parts.map((part) => part.replace(/s$/, "")).join(" ")} `;
}
