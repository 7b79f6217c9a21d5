import { expect, it } from "vitest";
import { terminalProgress } from "../../../src/cli/replay/report/progress.ts";

const CLEAR = "\r\x1b[K";

/** A progress on a terminal of so many columns, with a clock that the test turns. */
function progressOf(columns = 120) {
  let nowMs = 1_000;
  const written: string[] = [];
  const progress = terminalProgress(
    (text) => written.push(text),
    columns,
    () => nowMs,
  );
  const wait = (ms: number) => {
    nowMs += ms;
  };
  return { progress, written, wait };
}

it("tells percent, requests, speed and time left", () => {
  const { progress, written, wait } = progressOf();
  wait(2_000);
  progress.update(299_000, { bytes: 25, totalBytes: 100, lines: 300_000 });
  expect(written).toEqual([`${CLEAR} 25 % ██████░░░░░░░░░░░░░░░░░░ 299,000 requests, 150,000 lines/s, 6 s left`]);
});

it("tells no percent of an input that has no size", () => {
  const { progress, written, wait } = progressOf();
  wait(1_000);
  progress.update(9, { bytes: 25, totalBytes: undefined, lines: 10 });
  expect(written).toEqual([`${CLEAR}9 requests, 10 lines/s`]);
});

it("is drawn at most 10 times a second, never wider than the terminal, and cleared at the end", () => {
  const { progress, written, wait } = progressOf(40);
  for (let ms = 0; ms < 1_000; ms += 10) {
    progress.update(ms, { bytes: ms, totalBytes: 1_000, lines: ms });
    wait(10);
  }
  expect(written).toHaveLength(10);
  for (const text of written) expect(text.slice(CLEAR.length).length).toBeLessThan(40);
  progress.end();
  progress.end();
  expect(written.slice(10)).toEqual([CLEAR]);
});

it("writes nothing if nothing was drawn", () => {
  const { progress, written } = progressOf();
  progress.end();
  expect(written).toEqual([]);
});
