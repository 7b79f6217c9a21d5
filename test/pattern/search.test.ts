// The work of a match grows in proportion to the path, whatever the pattern. Long patterns match as short ones do.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parsePattern, writePattern } from "../../src/pattern/parse.ts";
import { compilePattern } from "../../src/pattern/pattern.ts";
import { draws, expectReached } from "../support/cases/draws.ts";

function decide(pattern: string, text: string) {
  const work = { left: 1e9 };
  const verdict = compilePattern(pattern, "path")({ text, longer: `${text}/` }, work);
  return { verdict, steps: 1e9 - work.left };
}

/**
 * A pattern, the start of its paths, the unit that they repeat, and their end. The end is such that the fixed text at
 * the pattern's end does not rule the paths out.
 */
const CLOSE: readonly (readonly [pattern: string, start: string, unit: string, end: string])[] = [
  ["/v1/*/items/*/reviews/*/votes", "/v1", "/items/x/review/y", "/votes"],
  ["/*a*a*a*b*a*ab", "/", "a", "/ab"],
  ["/:a-:b-:c-:d-:e-:f/x", "/", "-a", "/x"],
  ["/*/:a/*/:b/x/*/:c/y", "/", "x/", "z/y"],
  ["/{a*}?{a*}?{a*}?{a*}?{a*}?{a*}?b", "/", "a", "xb"],
  ["/:a(\\d+)*:b(\\d+)*:c(\\d+)x", "/1", "1", "/x"],
  ["/((?:a|b|ab)+)*((?:ab|a)+)*b", "/", "ab", "/b"],
  ["/:a+/:b+/:c+/x", "/", "a/", "y/x"],
  ["/*([ab]{1,50})*([ab]{1,50})/x", "/", "ab", "c/x"],
];

describe("the work on a path", () => {
  it.each(CLOSE)("for %s is at most twice as much for twice the path", (pattern, start, unit, end) => {
    const stepsOf = (times: number) => decide(pattern, `${start}${unit.repeat(times)}${end}`).steps;
    const [short, long] = [stepsOf(2_000), stepsOf(4_000)];
    expect(long).toBeLessThanOrEqual(2 * short + 10);
    // The fixed start and end are checked once. A match that is found at once would prove nothing.
    expect(short).toBeGreaterThan(500);
  });

  it("is given up when no work is left, and never said to be no match", () => {
    const [pattern, start, unit] = CLOSE[2]!;
    const work = { left: 100 };
    const [text, other] = [`${start}${unit.repeat(1_000)}/x`, "/y"];
    const test = compilePattern(pattern, "path");
    expect(test({ text, longer: `${text}/` }, work)).toBe("perhaps");
    expect(work.left).toBeLessThan(0);
    expect(test({ text, longer: `${text}/` }, work)).toBe("perhaps");
    // A path that the fixed text rules out needs no work.
    expect(test({ text: other, longer: `${other}/` }, work)).toBe("no");
  });
});

it.each(["(?:){250}", "(?:){0,9999}", "(?:(?:){9999}){9999}", "(?:a{0}){9,9999}"])(
  "%s is never written out",
  (empty) => {
    const pattern = `/x(${empty}b)`;
    expect(writePattern(parsePattern(pattern, "path")).length).toBeLessThan(200);
    expect([decide(pattern, "/xb").verdict, decide(pattern, "/xbb").verdict]).toEqual(["yes", "no"]);
  },
);

/** No repetition contains another repetition: URLPattern would take forever. */
const part = fc.oneof(
  fc.integer({ min: 1, max: 40 }).map((length) => "abcdefghij".repeat(4).slice(0, length)),
  fc.constantFrom("/", "-*", ":n", ":n(\\d{1,40})", "{/abcdefghijabcdefghijabcdefghijabc}?", "([a-j]{20,60})", "-"),
);

it("says the same as URLPattern of patterns of more than 32 and 64 positions", { timeout: 60_000 }, () => {
  const seen = { yes: 0, no: 0 };
  const drawn = fc.tuple(
    fc.array(part, { minLength: 2, maxLength: 8 }),
    fc.array(fc.nat(60), { minLength: 8, maxLength: 8 }),
    fc.nat(20),
  );
  fc.assert(
    fc.property(drawn, ([parts, lengths, cut]) => {
      const pattern = `/${parts.map((one, i) => one.replace(":n", `:n${i}`)).join("")}`;
      fc.pre(!pattern.replace(/[{}]/g, "").includes("//") && parts.filter((one) => /[*:(]/.test(one)).length < 3);
      const filled = parts.map((one, i) => {
        const filling = (/d\{/.test(one) ? "1234567890" : "abcdefghij").repeat(6).slice(0, lengths[i]);
        return /[*:(]/.test(one) ? one.replace(/[*:(].*/, filling) : one.replace(/[{}?]/g, "");
      });
      // The whole text, or the text without one of its characters.
      const whole = `/${filled.join("")}`;
      const text = (cut > 10 ? whole : whole.slice(0, cut + 1) + whole.slice(cut + 2))
        .replace(/\/+/g, "/")
        .replace(/(?<=.)\/$/, "");
      const reference = new URLPattern({ pathname: pattern }, { ignoreCase: true });
      const longer = text === "/" ? text : `${text}/`;
      const verdict = [text, longer].some((pathname) => reference.test({ pathname })) ? "yes" : "no";
      expect({ pattern, text, verdict: compilePattern(pattern, "path")({ text, longer }, { left: 1e9 }) }).toEqual({
        pattern,
        text,
        verdict,
      });
      seen[verdict]++;
    }),
    draws(1_000),
  );
  expectReached(Math.min(seen.yes, seen.no), 100);
});

it("a pattern is parsed once and compiled once, however many policies have it", () => {
  for (const pattern of ["/v1/*", "/v1/:id([a-z]{2,60})"]) {
    expect(parsePattern(pattern, "path")).toBe(parsePattern(pattern, "path"));
    expect(compilePattern(pattern, "path")).toBe(compilePattern(pattern, "path"));
  }
  // The same text is another pattern for a host.
  expect(parsePattern("*", "path")).not.toBe(parsePattern("*", "host"));
});
