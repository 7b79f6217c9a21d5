// What is refused and what to write instead; the work of a match; whether two patterns can match one request.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  canBothMatch,
  compilePattern,
  type PatternKind,
  parsePattern,
  type Subject,
} from "../../../src/kernel/request/pattern.ts";
import { PatternMistake } from "../../../src/kernel/request/text.ts";
import { draws, expectReached } from "../../support/cases/draws.ts";

/** A path, with a slash at its end or without. */
function subjectOf(path: string): Subject {
  return { text: path === "/" ? path : `${path}/`, shorter: path.length };
}

function messageFor(pattern: string, kind: PatternKind): string {
  try {
    return `read as ${parsePattern(pattern, kind)}`;
  } catch (error) {
    expect(error).toBeInstanceOf(PatternMistake);
    return (error as Error).message;
  }
}

describe("what is refused says what to write instead:", () => {
  it.each([
    ["/(a|b)", /^a pattern without groups and regular expressions: .* \["\/a", "\/b"\].* itself is %28$/],
    ["/v1}", /without braces: .* %7D$/],
    ["/v1/:id?", /without "\?": queries are not matched, and what is optional needs a list .* %3F$/],
    ["/:path+", /without "\+": \* stands for one segment or several. The character itself is %2B$/],
    ["/a/**/b", /without \*\*/],
    ["/:path*", /^:name as a whole segment, as in "\/users\/:id\/posts"; \* stands for a part of one, or for several/],
    ["/models/*:generate", /:name as a whole segment.* The character itself is %3A$/],
    ["/\\d", /without classes of characters such as \\d: write :name for a whole segment.* %5C$/],
    [" /a", /^a pattern without white space at its ends$/],
    ["v1", /^$/],
  ])("path %s", (pattern, message) => {
    expect(messageFor(pattern, "path")).toMatch(message);
  });

  it.each([
    ["(a|b).example", /^a pattern without groups .* a whole label, or \* .* \["a\.example\.com", "b\.example\.com"\]$/],
    ["{*.}?example.com", /without braces: write a list such as \["a\.example/],
    ["*:id.example", /^:name as a whole label, as in ":tenant\.example\.com"; \* stands for a part of one/],
    [":id-a.example", /:name as a whole label/],
    ["https://a", /^a host name without scheme, port and path$/],
  ])("host %s", (pattern, message) => {
    expect(messageFor(pattern, "host")).toMatch(message);
  });
});

it("two spellings of a pattern are read as one text, for a path and for a host", () => {
  for (const path of ["/V1/:a/*", "/%561//:b/*"])
    expect(parsePattern(path, "path")).toBe(parsePattern("/v1/:x/*", "path"));
  expect(parsePattern("*.EXAMPLE.com.", "host")).toBe(parsePattern("*.example.com", "host"));
  // What a path holds unencoded is no wildcard.
  expect(parsePattern("/%2A", "path")).not.toBe(parsePattern("/*", "path"));
});

/** A text that counts the characters that a test looks at, at most. */
function counted(text: string) {
  const seen = { characters: 0 };
  function indexOf(one: string, from: number): number {
    const at = text.indexOf(one, from);
    seen.characters += (at < 0 ? text.length : at) - from + one.length;
    return at;
  }
  const looked = new Proxy(Object(text), {
    get(_, name) {
      if (name === "length") return text.length;
      if (name === "indexOf") return indexOf;
      // A new way to read the text must be counted, too.
      if (!/^\d+$/.test(String(name))) throw new Error(`${String(name)} is not counted`);
      seen.characters++;
      return text[Number(name)];
    },
  });
  return { seen, text: looked as string };
}

function workOf(pattern: string, path: string): number {
  const { seen, text } = counted(`${path}/`);
  compilePattern(pattern, "path")({ text, shorter: path.length });
  return seen.characters;
}

it("the work on a path is at most the length of the path times that of the pattern, whatever both are", () => {
  const part = fc.constantFrom("a", "ab", "/", "*", "*", "*", "/:n/", "/:n/", "aa", "/a/");
  const drawn = fc.tuple(
    fc.array(part, { minLength: 1, maxLength: 12 }),
    fc.array(fc.constantFrom("a", "b", "/a", "/a/a", "ab", "aaa"), { minLength: 1, maxLength: 60 }),
    fc.nat(20),
  );
  fc.assert(
    fc.property(drawn, ([parts, units, times]) => {
      const pattern = `/${parts.join("")}`.replaceAll("**", "*").replace(/\/+/g, "/");
      const path = `/${units.join("")}`.repeat(1 + times);
      if (messageFor(pattern, "path").startsWith("read as")) {
        expect(workOf(pattern, path)).toBeLessThanOrEqual(2 * pattern.length * path.length);
      }
    }),
    draws(2_000),
  );
});

/** All paths in normal form with up to 8 characters of "/ab". */
const PATHS = ["/", ...grown(["/"], 7)];

function grown(from: readonly string[], times: number): string[] {
  if (times === 0) return [];
  const longer = from
    .flatMap((path) => ["/", "a", "b"].map((one) => path + one))
    .filter((path) => !path.includes("//"));
  return [...longer.filter((path) => !path.endsWith("/")), ...grown(longer, times - 1)];
}

/** Short patterns: two that one request can match are matched by a path of at most 8 characters. */
const shortPattern = fc
  .array(fc.constantFrom("a", "b", "/", "*", "*", "/:n"), { maxLength: 4 })
  .map((parts) => `/${parts.join("")}`.replace(/\*+/g, "*").replace(/\/+/g, "/"))
  .filter((pattern) => !/:n[^/]|[*]:/.test(pattern))
  .filter((pattern) => pattern.replaceAll("*", "").replaceAll(":n", "n").length <= 4);

/** The naive reading of a pattern. */
function regexpOf(pattern: string): RegExp {
  return new RegExp(`^${pattern.replaceAll("*", ".*").replace(/:n/g, "[^/]+")}$`);
}

it("says the same as a regular expression of every short path, and of two patterns what one path shows", () => {
  const seen = { both: 0, apart: 0 };
  fc.assert(
    fc.property(shortPattern, shortPattern, (one, other) => {
      const [first, second] = [one, other].map((pattern) => {
        const regexp = regexpOf(pattern);
        const expected = PATHS.filter((path) => regexp.test(path) || (path !== "/" && regexp.test(`${path}/`)));
        const test = compilePattern(pattern, "path");
        const found = PATHS.filter((path) => test(subjectOf(path)));
        expect({ pattern, found }).toEqual({ pattern, found: expected });
        return new Set(found);
      });
      const both = PATHS.some((path) => first!.has(path) && second!.has(path));
      expect({ one, other, both: canBothMatch(one, other, "path") }).toEqual({ one, other, both });
      seen[both ? "both" : "apart"]++;
    }),
    draws(200),
  );
  expectReached(Math.min(seen.both, seen.apart), 40);
});

it.each<[string, string, PatternKind, boolean]>([
  ["/v1/*/a", "/v1/*/b", "path", false],
  ["/%2A", "/*a", "path", false],
  ["*.example.com", ":tenant.example.com", "host", true],
  [":tenant.example.com", "a.b.example.com", "host", false],
  ["api.*", "*.example.com", "host", true],
  ["a.example", "a.example.", "host", true],
])("%s and %s: whether one %s matches both is %s", (one, other, kind, both) => {
  expect([canBothMatch(one, other, kind), canBothMatch(other, one, kind)]).toEqual([both, both]);
});

it("long patterns are compared, too", () => {
  const many = (text: string) => `/${text.repeat(50)}`;
  expect(canBothMatch(many("*a"), `${many("*b")}*`, "path")).toBe(true);
  expect(canBothMatch(many("*a"), many("*b"), "path")).toBe(false);
  expect(canBothMatch(many("a/:n/"), many(":n/a/"), "path")).toBe(true);
});
