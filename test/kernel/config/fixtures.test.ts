// Any configuration gives settings or a list of mistakes, never an exception.

import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { mistakeCodes, parseSettings, warningsOf } from "../../../src/features/configuration.ts";
import { describeMistake } from "../../../src/kernel/config/mistake.ts";
import { compileMatcher } from "../../../src/kernel/http/match.ts";
import { draws, expectReached } from "../../support/cases/draws.ts";
import { readFixtures } from "../../support/cases/fixtures.ts";
import { bindings } from "../../support/gateway/hostile.ts";

const fixtures = readFixtures();

describe("a configuration with mistakes", () => {
  it.each(fixtures)("$expected.0 is refused with exactly the messages that its row names", (fixture) => {
    expect(fixture.expected).not.toHaveLength(0);
    expect(parseSettings(fixture.bindings).mistakes?.map(describeMistake)).toEqual(fixture.expected);
  });

  it("has a fixture for every code that a file can cause", () => {
    const codes = new Set(
      fixtures.flatMap(({ expected }) => expected.map((message) => /\((\w+), docs\S+\)$/.exec(message)?.[1])),
    );
    // The variables of a wrangler.toml cannot hold a service binding, so settings.test.ts tests ERR_ORIGIN_TWICE. Only
    // the library has a clientIp: kernel/http/client-ip.test.ts.
    const elsewhere = ["ERR_ORIGIN_TWICE", "ERR_CLIENT_IP", "ERR_FEATURE_MISSING"];
    const missing = mistakeCodes().filter((code) => !codes.has(code) && !elsewhere.includes(code));
    expect(missing).toEqual([]);
  });

  it("never repeats a secret", () => {
    const messages = fixtures.flatMap(({ expected }) => expected).join("\n");
    expect(messages).not.toMatch(/secret token|hunter2|user:secret/);
  });
});

it("docs/errors.md has a heading for every code, and for nothing else", () => {
  const text = readFileSync(new URL("../../../docs/errors.md", import.meta.url), "utf8");
  const headings = [...text.matchAll(/^### `(\w+)`$/gm)].map(([, code]) => code);
  expect(headings).toEqual([...mistakeCodes()]);
});

it("any bindings are settings that work, or mistakes with a place and a known code", { timeout: 60_000 }, () => {
  const outcomes = { right: 0, wrong: 0 };
  fc.assert(
    fc.property(bindings, (drawn) => {
      const parsed = parseSettings(drawn);
      outcomes[parsed.mistakes ? "wrong" : "right"]++;
      for (const mistake of parsed.mistakes ?? []) {
        expect(mistakeCodes()).toContain(mistake.code);
        expect(describeMistake(mistake)).toMatch(/^(POLICIES|RE|KEY|IDENTITY|RATE|ORIGIN).*: expected .+; found /s);
      }
      if (parsed.mistakes) return;
      warningsOf(parsed.value.policies);
      compileMatcher(parsed.value.policies)(new Request("https://gate.example/login"));
    }),
    draws(1_500),
  );
  // The property has seen both outcomes.
  expectReached(Math.min(outcomes.right, outcomes.wrong), 50);
});

it("no configuration changes what all objects have", () => {
  const [object, text] = [JSON.stringify(describeObject({})), JSON.stringify(describeObject("".toString))];
  for (const kind of ["__proto__", "toString", "constructor"]) {
    const REGIONS = `{"${kind}":{"FRA":"frankfurt"}}`;
    expect(parseSettings({ POLICIES: [], REGIONS }).mistakes).toContainEqual(
      expect.objectContaining({ code: "ERR_REGIONS", path: `REGIONS.${kind}` }),
    );
  }
  expect([JSON.stringify(describeObject({})), JSON.stringify(describeObject("".toString))]).toEqual([object, text]);
  expect("FRA" in {}).toBe(false);
});

function describeObject(value: object): string[] {
  const names: string[] = [];
  for (const name in value) names.push(name);
  return names;
}
