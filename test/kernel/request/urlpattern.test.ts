// The supported syntax is a small part of URLPattern's, with the same meaning: the platform's URLPattern is the
// reference. For every pattern and every path and host, both must give the same verdict.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compilePattern, type PatternKind } from "../../../src/kernel/request/pattern.ts";
import { normalizeHost, normalizePath, PatternMistake } from "../../../src/kernel/request/text.ts";
import { draws, expectReached } from "../../support/cases/draws.ts";

/** A small alphabet, so that patterns often match texts. */
const TEXTS = {
  path: [
    ...["/", "/", "/a", "/a/", "/A", "/ab", "b", "-", ".a", "/b.a", "@", ",", "%2F", "%C3%A9", "é", "%zz", " ", "|"],
    ...["\\*", "\\:", "\\?", "\\("],
  ],
  host: ["a", "b.", ".b", "A.b", "ab", "-", ".", "xn--4ca.a"],
} as const;
/** Most often `:name` is a whole segment or label: it is refused elsewhere. */
const NAMES = { path: ["/:name", "/:name/", ":name"], host: [".:name", ":name.", ".:name.", ":name"] } as const;

function patternOf(kind: PatternKind): fc.Arbitrary<string> {
  const part = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...TEXTS[kind]) },
    { weight: 1, arbitrary: fc.constant("*") },
    { weight: 1, arbitrary: fc.constantFrom(...NAMES[kind]) },
  );
  return fc
    .array(part, { minLength: 1, maxLength: 7 })
    .map((parts) => {
      // A name may occur only once in a pattern of URLPattern.
      const named = parts.map((one, i) => one.replace(":name", `:n${i}`)).join("");
      return kind === "path" && !/^[/*]/.test(named) ? `/${named}` : named;
    })
    .map((pattern) => (kind === "path" ? pattern.replace(/\/+/g, "/") : pattern))
    .filter((pattern) => !pattern.endsWith("."));
}

/** Texts that resemble the pattern: the pattern itself with its groups filled in. */
function textOf(kind: PatternKind, pattern: string): fc.Arbitrary<string> {
  const any = fc.array(fc.constantFrom("/", "a", "A", "b", "bb", "-", ".", "1", "ab", "%2F", "%C3%A9", "@", "x"), {
    maxLength: 8,
  });
  const filled = fc
    .array(fc.constantFrom("", "a", "b", "ab", "/a", "1", "a/b", "-", ".a"), { minLength: 8, maxLength: 8 })
    .map((values) => {
      let i = 0;
      return pattern.replace(/:n\d+|(?<!\\)\*/g, () => values[i++ % 8]!).replace(/\\/g, "");
    });
  return fc
    .oneof(
      any.map((all) => all.join("")),
      filled,
    )
    .map((text) => (kind === "path" ? `/${text}` : text));
}

/** The text in the form in which requests are matched. undefined: no request has this path or host. */
function normal(kind: PatternKind, text: string): string | undefined {
  const url = URL.parse(kind === "path" ? `https://a.b${text}` : `https://${text}/`);
  return url ? (kind === "path" ? normalizePath(url.pathname) : normalizeHost(url.hostname)).toLowerCase() : undefined;
}

/** For some of these patterns, the time of URLPattern grows quickly with the text. */
const LONGEST = 14;

describe.each(["path", "host"] as const)("a pattern for a %s", (kind) => {
  it("says the same as URLPattern", { timeout: 120_000 }, () => {
    const seen = { yes: 0, no: 0, refused: 0 };
    fc.assert(
      fc.property(
        patternOf(kind).chain((pattern) =>
          fc.tuple(fc.constant(pattern), fc.array(textOf(kind, pattern), { minLength: 5, maxLength: 5 })),
        ),
        ([pattern, texts]) => {
          let test: ReturnType<typeof compilePattern>;
          try {
            test = compilePattern(pattern, kind);
          } catch (error) {
            expect(error).toBeInstanceOf(PatternMistake);
            seen.refused++;
            return;
          }
          const reference = new URLPattern(
            { [kind === "path" ? "pathname" : "hostname"]: pattern },
            { ignoreCase: true },
          );
          for (const one of texts) {
            const text = normal(kind, one);
            // URLPattern reads a number at the end of a host as an IP address.
            if (!text || text.length > LONGEST || (kind === "host" && /\d$/.test(text))) continue;
            const longer = kind === "path" && text !== "/" ? `${text}/` : text;
            const matches = [text, longer].some((each) =>
              reference.test(kind === "path" ? { pathname: each } : { hostname: each }),
            );
            expect({ pattern, text, matches: test({ text: longer, shorter: text.length }) }).toEqual({
              pattern,
              text,
              matches,
            });
            seen[matches ? "yes" : "no"]++;
          }
        },
      ),
      draws(3_000),
    );
    expectReached(Math.min(seen.yes, seen.no), 500);
  });
});
