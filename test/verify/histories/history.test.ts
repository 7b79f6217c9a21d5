// The file of a history: other checkers read it.

import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { checkHistory } from "../../../scripts/verify/histories/check.ts";
import { readHistory, writeHistory } from "../../../scripts/verify/histories/history.ts";
import { createRecorder } from "../../../scripts/verify/histories/recorder.ts";
import { Flag } from "../../../src/kernel/core/take.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { StoreError } from "../../../src/kernel/store/store.ts";
import { call, historyOf, look, reset } from "./by-hand.ts";

const operations = [call([0, 10], [1]), call([20], [], { process: 1 }), reset([30, 40]), look([50, 60], 0)];

it("is JSON with one operation per line, and reads back as it was", () => {
  const text = writeHistory(historyOf(operations));
  expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(historyOf(operations))));
  expect(text.split("\n").filter((line) => line.startsWith('{"process"'))).toHaveLength(operations.length);
  expect(readHistory(text)).toEqual(JSON.parse(text));
});

it.each([
  [{ format: "other" }, 'format: expected "headgate-history-1", found "other"'],
  [{ promise: "none" }, 'promise: expected "linearizable" or "several-places", found "none"'],
  [{ promise: "several-places" }, "policies: expected the policies by name, found none"],
  [{ operations: [{ ...operations[0], op: "put" }] }, "operations[0].op: expected take, reset, decide or settle"],
  [{ operations: [{ ...operations[0], return: 0 }] }, "operations[0]: expected a call, and a return after it or none"],
  [{ operations: [operations[0], operations[0]] }, "operations[1]: expected an instant of its own, found 0 twice"],
])("says what is wrong with a file: %o", (wrong, message) => {
  expect(() => readHistory(JSON.stringify({ ...historyOf(operations), ...wrong }))).toThrow(message);
});

it("is what the recorder saw: answers, failures that did not run, unknown outcomes, and the dead", async () => {
  const recorder = createRecorder();
  const memory = memoryStore();
  const failing = (code: "NETWORK" | "OPEN") => ({ ...memory, take: () => Promise.reject(new StoreError(code)) });
  const { input } = call([0, 1], [1]);
  const ask = (place: string, store: Pick<typeof memory, "take" | "reset">) =>
    recorder.recorded(place, store, () => ({ process: 0 })).take(input);
  await ask("one", memory);
  await expect(ask("one", failing("OPEN"))).rejects.toThrow("OPEN");
  await expect(ask("one", failing("NETWORK"))).rejects.toThrow("NETWORK");
  await expect(ask("two", failing("NETWORK"))).rejects.toThrow("NETWORK");
  recorder.died("one");
  await recorder.recorded("one", memory, () => ({ process: 0 })).take({ ...input, flag: Flag.look });

  const history = recorder.end({ promise: "linearizable", about: "a test" })!;
  expect(
    history.operations.map((one) => Object.keys(one).filter((name) => /^(return|output|failed|until)$/.test(name))),
  ).toEqual([["return", "output"], ["return", "failed"], ["until"], [], ["return", "output"]]);
  expect(checkHistory(readHistory(writeHistory(history))).violations).toEqual([]);
});

it("is read and checked as docs/verification.md shows it, by options that exist", () => {
  const page = readFileSync(new URL("../../../docs/verification.md", import.meta.url), "utf8");
  const block = (language: string) => page.split(`\`\`\`${language}\n`)[1]!.split("```")[0]!;
  const history = readHistory(block("json"));
  expect(checkHistory(history)).toMatchObject({ calls: { calls: 2, unknown: 1 }, violations: [] });
  expect(writeHistory(history)).toBe(block("json"));

  const program = readFileSync(new URL("../../../scripts/verify/histories/main.ts", import.meta.url), "utf8");
  const commands = page.split("## Histories\n")[1]!.split("```sh\n")[1]!.split("```")[0]!;
  const options = [...commands.matchAll(/--([a-z]+)/g)].map(([, name]) => name!);
  expect(options).toEqual(["quick", "out", "check"]);
  for (const name of options) expect(program).toContain(`    ${name}: { type:`);
});
