// `--fail-if`, over a summary made by hand.

import { expect, it } from "vitest";
import { Misuse } from "../../../src/cli/io.ts";
import type { ConfigurationSummary } from "../../../src/cli/replay/engine/summary.ts";
import { checkFailIf, findFailure, parseFailIf } from "../../../src/cli/replay/report/fail-if.ts";
import { ONE, TWO } from "./summary.ts";

const find = (text: string, summary = TWO, damaged = 7) => findFailure(parseFailIf(text), summary, damaged);

it.each([
  ["refused > 30%", "58,252 of 192,000 requests (30.3 %)"],
  ["refused>31%", undefined],
  ["refused > 58251", "58,252 of 192,000 requests (30.3 %)"],
  ["refused > 58252", undefined],
  ["refused >= 58252", "58,252 of 192,000 requests (30.3 %)"],
  ["refused of search > 7.5 %", "14,573 of 192,000 requests (7.59 %)"],
  ["newly-refused > 0", "8,123 of 192,000 requests (4.23 %)"],
  ["newly-refused of api >= 5%", undefined],
  ["newly-admitted > 0", undefined],
  ["newly-admitted of api > 0", undefined],
  ["skipped > 0", "1 of 3 policies (33.3 %)"],
  ["skipped > 1", undefined],
  ["damaged > 0.001%", "7 of 192,007 lines (0.004 %)"],
  ["damaged > 7", undefined],
])("%s", (condition, found) => {
  expect(find(condition)).toBe(found && `${condition}: ${found}`);
});

it("judges the only configuration if there is one", () => {
  expect(find("refused > 1%", ONE)).toBe("refused > 1%: 29,126 of 192,000 requests (15.2 %)");
});

it("finds no share of nothing, also with >=", () => {
  const log = { ...ONE.log, lines: 0 };
  expect(find("damaged >= 0%", { ...ONE, log }, 0)).toBeUndefined();
});

it("does not take silence about a policy for success", () => {
  expect(find("refused of slow > 1%")).toBe("refused of slow > 1%: not known, because slow was not replayed");
});

it("does not take the sum for success if an enforced policy was not replayed", () => {
  const skipped = [{ policy: "slow", reason: "no durations", mode: "enforce" as const }];
  const [present, candidate] = TWO.configurations as [ConfigurationSummary, ConfigurationSummary];
  const one = { ...ONE, configurations: [{ ...present, skipped }] };
  const says = (text: string) => `${text}: not known, because slow was not replayed`;
  expect(find("refused > 31%", one)).toBe(says("refused > 31%"));
  expect(find("refused > 1%", one)).toBe("refused > 1%: 29,126 of 192,000 requests (15.2 %)");
  expect(find("skipped > 1", one)).toBeUndefined();
  const configurations = [present, { ...candidate, skipped }];
  // The same in both configurations: it changes nothing.
  const same = { ...TWO, configurations };
  expect(find("newly-refused > 5%", same)).toBeUndefined();
  expect(find("refused > 31%", same)).toBe(says("refused > 31%"));
  const changed = { ...same, comparison: { ...TWO.comparison!, unknown: ["slow"] } };
  expect(find("newly-refused > 5%", changed)).toBe(says("newly-refused > 5%"));
  expect(find("newly-refused of api > 5%", changed)).toBeUndefined();
});

it("compares a percentage exactly", () => {
  const log = { ...ONE.log, lines: 1_000 };
  expect(find("damaged > 0.7%", { ...ONE, log })).toBeUndefined();
  expect(find("damaged >= 0.7%", { ...ONE, log })).toBe("damaged >= 0.7%: 7 of 1,000 lines (0.70 %)");
  expect(find("damaged > 0.69%", { ...ONE, log })).toBeDefined();
});

it.each([
  "",
  "refused",
  "refused > ",
  "refused < 1%",
  "refusd > 1%",
  "skipped of api > 0",
  "damaged of api > 0",
  "refused > 1 5",
])("refuses '%s' with the grammar", (text) => {
  expect(() => parseFailIf(text)).toThrow(Misuse);
  expect(() => parseFailIf(text)).toThrow("expected <what> [of <policy>] <> or >=> <number or percentage>");
});

it.each([
  ["newly-refused > 0", [["api"]], "there is no candidate to compare with"],
  ["refused of login > 0", [["api", "login"], ["api"]], "expected a policy of the configuration: api"],
  ["newly-refused of login > 0", [["api", "login"], ["api"]], "expected a policy of both configurations: api"],
  ["refused of login > 0", [[]], "there is none"],
])("says before the replay what could never be found: %s", (text, names, says) => {
  expect(() => checkFailIf(parseFailIf(text), names)).toThrow(Misuse);
  expect(() => checkFailIf(parseFailIf(text), names)).toThrow(says);
});

it("knows the policies of the configuration that it judges", () => {
  const names = [
    ["api", "login"],
    ["api", "search"],
  ];
  for (const text of ["refused of search > 1%", "newly-refused of api > 0", "skipped > 0"]) {
    expect(() => checkFailIf(parseFailIf(text), names)).not.toThrow();
  }
});
