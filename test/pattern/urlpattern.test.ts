// The platform's URLPattern is the reference. For every pattern of the supported syntax and every path and host, both
// must give the same verdict.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compilePattern, type Verdict } from "../../src/pattern/pattern.ts";
import type { PatternKind } from "../../src/pattern/term.ts";
import { PatternMistake } from "../../src/pattern/term.ts";
import { normalizeHost, normalizePath } from "../../src/pattern/text.ts";
import { draws, expectReached } from "../support/cases/draws.ts";

/** A small alphabet, so that patterns often match texts. */
const SYNTAX = {
  path: {
    texts: [
      "/",
      "/",
      "/a",
      "/a/",
      "/A",
      "/ab",
      "b",
      "-",
      ".a",
      "/b.a",
      "@",
      ",",
      "%2F",
      "%C3%A9",
      "é",
      "%zz",
      " ",
      "|",
      "\\*",
      "\\:",
      "\\?",
    ],
    regexps: [
      "\\d+",
      "a|b|ab",
      "[ab]+",
      "[^\\/]",
      ".",
      "a*",
      "(?:a|\\/)+b?",
      "[a-c\\-]{1,2}",
      "\\w*?",
      "[^a]+",
      "A",
      "b{2,}",
      "\\D",
      "[\\da]",
      "(?:a?b){2}",
    ],
  },
  host: {
    texts: ["a", "b.", ".b", "A.b", "ab", "-", ".", "xn--4ca.a"],
    regexps: ["\\d+", "a|b|ab", "[ab]+", "[^.]", ".", "a*", "(?:a|\\.)+b?", "[^a]+", "b{2,}", "\\w"],
  },
} as const;

function patternOf(kind: PatternKind): fc.Arbitrary<string> {
  const text = fc.constantFrom(...SYNTAX[kind].texts);
  const group = fc.oneof(
    fc.constantFrom("*", ":name"),
    fc
      .tuple(fc.constantFrom("", ":name"), fc.constantFrom(...SYNTAX[kind].regexps))
      .map(([name, regexp]) => `${name}(${regexp})`),
  );
  const modifier = fc.constantFrom("", "", "?", "*", "+");
  const texts = fc.array(text, { maxLength: 2 }).map((all) => all.join(""));
  const braced = fc.tuple(texts, fc.oneof(group, fc.constant("")), texts, modifier);
  const part = fc.oneof(
    { weight: 3, arbitrary: text },
    { weight: 2, arbitrary: fc.tuple(group, modifier).map((all) => all.join("")) },
    { weight: 1, arbitrary: braced.map(([before, inner, behind, many]) => `{${before}${inner}${behind}}${many}`) },
  );
  return fc
    .array(part, { minLength: 1, maxLength: 7 })
    .map((parts) => {
      // A name may occur only once in a pattern.
      const named = parts.map((one, i) => one.replace(":name", `:n${i}`)).join("");
      return kind === "path" && !/^[/*({:]/.test(named) ? `/${named}` : named;
    })
    .filter((pattern) => !isNormalised(pattern));
}

/** Whether headgate or URLPattern changes the pattern into another form. */
function isNormalised(pattern: string): boolean {
  const text = pattern.replace(/\{\}[?+*]?|[{}]/g, "");
  return text.includes("//") || text.endsWith(".");
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
      return pattern
        .replace(/\{([^{}]*)\}[?*+]?/g, (_, inner: string) => (values[i++ % 8]!.length > 1 ? inner : ""))
        .replace(
          /:n\d+(?:\((?:\\.|\(\?:[^)]*\)|[^\\()])*\))?[?*+]?|\((?:\\.|\(\?:[^)]*\)|[^\\()])*\)[?*+]?|\*+[?*+]?/g,
          () => values[i++ % 8]!,
        )
        .replace(/\\/g, "");
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

/** For some of these patterns, the time of URLPattern grows exponentially with the text. */
const LONGEST = 14;
const WORK = () => ({ left: 1_000_000 });

describe.each(["path", "host"] as const)("a pattern for a %s", (kind) => {
  it("says the same as URLPattern", { timeout: 120_000 }, () => {
    const seen = { yes: 0, no: 0, perhaps: 0, refused: 0 };
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
            const verdict: Verdict = matches ? "yes" : "no";
            expect({ pattern, text, verdict: test({ text, longer }, WORK()) }).toEqual({ pattern, text, verdict });
            seen[verdict]++;
          }
        },
      ),
      draws(3_000),
    );
    expectReached(Math.min(seen.yes, seen.no), 500);
  });
});
