// What settled answers count, whatever an origin names its models and states as their tokens.

import { expect, it } from "vitest";
import { checkBatch } from "../../../src/operate/stats/batch.ts";
import { countAnswer } from "../../../src/operate/stats/count.ts";
import {
  addClients,
  addWhere,
  listsOf,
  MAX_MINUTES,
  noCounts,
  totalsIn,
  totalsText,
  whereOf,
  whereOfFirst,
} from "../../../src/operate/stats/object/counts.ts";
import { Tally } from "../../../src/operate/stats/tally.ts";

const MINUTE = 29_920_607;

function counted(count: (tally: Tally) => void): Readonly<Record<string, number>> {
  const tally = new Tally(MINUTE);
  count(tally);
  // What `STATS` refuses would be lost, with everything else in the batch.
  checkBatch({ isolate: "i", number: 1, minutes: [tally.counts()], open: [] });
  return tally.counts().sums;
}

const answer = (answeredBy: string | undefined, inputTokens = 10, outputTokens = 2) => ({
  settled: [{ policy: "team", paidFor: "plan", units: 7 }],
  answeredBy,
  usage: { inputTokens, outputTokens },
});

it("counts units and tokens under each policy that is charged, by the model that has answered", () => {
  const both = { ...answer("gpt-5"), settled: [...answer("").settled, { policy: "all", paidFor: "all", units: 0 }] };
  expect(
    counted((tally) => {
      countAnswer(tally, both);
      countAnswer(tally, both);
    }),
  ).toEqual({
    "settled_units\tteam\tplan\tgpt-5": 14,
    "tokens\tteam\tgpt-5\tinput": 20,
    "tokens\tteam\tgpt-5\toutput": 4,
    "tokens\tall\tgpt-5\tinput": 20,
    "tokens\tall\tgpt-5\toutput": 4,
  });
});

it("counts units without tokens if nobody knows what an answer has used", () => {
  const { usage: _, ...unknown } = answer(undefined);
  expect(counted((tally) => countAnswer(tally, unknown))).toEqual({ "settled_units\tteam\tplan\tunnamed": 7 });
});

it.each([
  ["", "unnamed"],
  ["a\tb\n\u{1f600}é", "a?b????"],
  ['"}\\', '"}\\'],
  ["x".repeat(10_000), "x".repeat(64)],
])("an origin's name for its model, %j, becomes a label", (name, label) => {
  expect(Object.keys(counted((tally) => countAnswer(tally, answer(name))))[0]).toBe(
    `settled_units\tteam\tplan\t${label}`,
  );
});

it.each([
  [Number.NaN, undefined],
  [-5, undefined],
  [0.5, 1],
  [Number.POSITIVE_INFINITY, 1e9],
])("%d tokens count as %j", (stated, tokens) => {
  const sums = counted((tally) => countAnswer(tally, answer("m", stated)));
  expect(sums["tokens\tteam\tm\tinput"]).toBe(tokens);
});

it("counts 50 models by name and the others together, and every unit", () => {
  const names = Array.from({ length: 80 }, (_, i) => `model-${i}`);
  const own = counted((tally) => {
    for (const name of names) countAnswer(tally, answer(name));
  });
  expect(Object.keys(own).filter((series) => series.startsWith("settled_units"))).toHaveLength(51);
  expect(own["settled_units\tteam\tplan\tother"]).toBe(30 * 7);
});

it("the object keeps where the most refused clients were refused, of however many it hears", () => {
  const { top, where } = noCounts(0);
  for (let i = 0; i < 10_000; i++) {
    addClients(top, { api: [[`c${i}`, i === 7_000 ? 9 : 1, 0]] });
    addWhere(where, { [whereOf("api", `c${i}`)]: [[whereOf("/v1", "DE"), 1, 0]] }, top);
    expect(where.size).toBeLessThanOrEqual(2_000);
  }
  expect(whereOfFirst(listsOf(top), where)).toMatchObject({ "api\tc7000": [["/v1\tDE", 1, 0]] });
});

it("a model that has not answered for 30 days makes room for others in the object", () => {
  const [model, other] = ["tokens\tteam\told\tinput", "units\tteam\tadmitted"];
  const totals = new Map([
    [model!, 1],
    [other!, 2],
  ]);
  const at = (minute: number, before?: string) => totalsText(totals, noCounts(minute), before);
  const before = at(0);
  const names = (text: string) => totalsIn(text).map(([series]) => series);
  expect(names(at(MAX_MINUTES, before))).toEqual([model, other]);
  expect(names(at(MAX_MINUTES + 60, before))).toEqual([other]);
});
