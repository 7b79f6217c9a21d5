// Any configuration gives settings or a list of mistakes, never an exception.

import fc from "fast-check";
import { expect, it } from "vitest";
import { describeMistake, MISTAKE_CODES } from "../../../src/kernel/config/mistake.ts";
import { parseSettings } from "../../../src/kernel/config/settings.ts";
import { policyWarnings } from "../../../src/kernel/config/warnings.ts";
import { compileMatcher } from "../../../src/kernel/http/match.ts";
import { draws, expectReached } from "../../support/cases/draws.ts";
import { bindings } from "../../support/gateway/hostile.ts";

it("any bindings are settings that work, or mistakes with a place and a known code", { timeout: 60_000 }, () => {
  const outcomes = { right: 0, wrong: 0 };
  fc.assert(
    fc.property(bindings, (drawn) => {
      const parsed = parseSettings(drawn);
      outcomes[parsed.mistakes ? "wrong" : "right"]++;
      for (const mistake of parsed.mistakes ?? []) {
        expect(MISTAKE_CODES).toContain(mistake.code);
        expect(describeMistake(mistake)).toMatch(/^(POLICIES|RE|KEY|IDENTITY|RATE|ORIGIN).*: expected .+; found /s);
      }
      if (parsed.mistakes) return;
      policyWarnings(parsed.value.policies);
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
