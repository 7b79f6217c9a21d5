import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { mistakeCodes, parseSettings } from "../../../src/features/configuration.ts";
import { describeMistake } from "../../../src/kernel/config/mistake.ts";
import { readFixtures } from "../../support/cases/fixtures.ts";

const fixtures = readFixtures();

describe("a configuration with mistakes", () => {
  it.each(fixtures)("$expected.0 is refused with exactly the messages that its row names", ({ bindings, expected }) => {
    expect(expected).not.toHaveLength(0);
    expect(parseSettings(bindings).mistakes?.map(describeMistake)).toEqual(expected);
  });

  it("has a fixture for every code that a file can cause", () => {
    const codes = new Set(
      fixtures.flatMap(({ expected }) => expected.map((message) => /\((\w+)\)$/.exec(message)?.[1])),
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
