import { expect, it } from "vitest";
import { type Duration, formatDuration, parseDurationMs } from "../../../src/kernel/core/duration.ts";

it.each([
  ["250ms", 250],
  ["10s", 10_000],
  ["1m", 60_000],
  ["1h", 3_600_000],
  ["1d", 86_400_000],
  ["31d", 2_678_400_000],
  ["0s", 0],
  ["007s", 7_000],
  // 0 is the same in every unit.
  [0, 0],
  ["0", 0],
])("%j is %i ms", (written, durationMs) => {
  expect(parseDurationMs(written)).toBe(durationMs);
});

it.each([
  // Seconds or milliseconds?
  ...[60, "60", "00", -0.5, null, undefined, "", "s", "1y", "1 m", " 1m", "1m ", "1M", "1min"],
  ...["-1s", "+1s", "1.5s", "1e3", "1m30s", "0x10s", "1234567890123s"],
])("%j is no duration", (written) => {
  expect(parseDurationMs(written)).toBeUndefined();
});

it.each([
  [0, "0ms"],
  [1, "1ms"],
  [1_500, "1500ms"],
  [1_000, "1s"],
  [90_000, "90s"],
  [120_000, "2m"],
  [3_600_000, "1h"],
  [86_400_000, "1d"],
  [90_000_000, "25h"],
])("%i ms are written %s, and read back", (durationMs, written) => {
  expect(formatDuration(durationMs)).toBe(written);
  expect(parseDurationMs(written)).toBe(durationMs);
});

it("without a known unit fails in the editor", () => {
  // @ts-expect-error
  const [word, digits]: Duration[] = ["1 minute", "60"];
  // @ts-expect-error
  const number: Duration = 60;
  expect([word, digits, number].map(parseDurationMs)).toEqual([undefined, undefined, undefined]);
});
