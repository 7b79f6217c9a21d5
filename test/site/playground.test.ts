// The playground's figures are those of the limiter's own code.

import { describe, expect, it } from "vitest";
import { WORST_MS } from "../../scripts/docs/algorithm-runs.ts";
import { EXAMPLES } from "../../site/playground/examples.ts";
import { run } from "../../site/playground/run.ts";
import {
  ALGORITHMS,
  CONSISTENCIES,
  DEFAULT_SETTING,
  fromQuery,
  policyInputOf,
  type Setting,
  SHAPES,
  toQuery,
} from "../../site/playground/setting.ts";
import { settleByHops } from "../../site/playground/settle.ts";
import { arrivalsOf } from "../../site/playground/traffic.ts";
import { ALL } from "../../src/features/configuration.ts";
import { parseFields } from "../../src/kernel/config/policy-fields.ts";
import { decideLimit } from "../../src/kernel/core/decision.ts";
import { Flag } from "../../src/kernel/core/take.ts";
import { memoryStore } from "../../src/kernel/store/memory.ts";
import { firstOf } from "../support/cases/draws.ts";

const figures = async (setting: Setting, ...wait: [] | [() => Promise<void>, () => Promise<void>]) => {
  const { told: _, ...rest } = await run(setting, ...wait);
  return rest;
};

it("has the burst of the page about algorithms", () => {
  const [first] = WORST_MS;
  expect(arrivalsOf(DEFAULT_SETTING)[0]!.afterMs).toBe(first);
});

describe("the core decides", () => {
  it.each(ALGORITHMS)("%s, strict at a store without a distance: as the core alone", async (algorithm) => {
    const setting: Setting = { ...DEFAULT_SETTING, algorithm, shape: "random", demand: 120 };
    const { value } = parseFields(ALL, [policyInputOf(setting)], "policies") as { value: never[] };
    const [policy] = value as Parameters<typeof decideLimit>[0][];
    const [limit] = policy!.limits;
    const store = memoryStore();
    let admitted = 0;
    // As in the playground: a boundary of windows.
    const beginMs = 1_800_000_000_000;
    for (const { afterMs } of arrivalsOf(setting)) {
      const keys = [{ key: "k", group: 0, cost: 1, limits: [limit!] }];
      const reply = await store.take({ keys, flag: Flag.take }, beginMs + afterMs);
      if (decideLimit(policy!, limit!, reply.keys[0]![0]!, 1, reply.nowMs).admitted) admitted++;
    }
    expect((await figures(setting)).admitted).toBe(admitted);
  });

  const far = [
    { roundTripMs: 80, clockMs: 0 },
    { roundTripMs: 31, clockMs: -900 },
  ];
  const many = SHAPES.flatMap((shape) => CONSISTENCIES.map((consistency) => [consistency, shape] as const));
  it.each(firstOf(many))("%s, %s: a browser's way of waiting gives the same figures", async (consistency, shape) => {
    const setting: Setting = {
      ...DEFAULT_SETTING,
      ...{ consistency, shape, locations: far, limit: 100, demand: 400, retries: true, outageFromS: 8, outageToS: 14 },
    };
    expect(await figures(setting, settleByHops, settleByHops)).toEqual(await figures(setting));
  });
});

describe("the link", () => {
  it.each(EXAMPLES)("holds the whole setting: %s", (_text, setting) => {
    expect(fromQuery(toQuery(setting))).toEqual(setting);
  });

  it("that is wrong gives the default where it is wrong", () => {
    const query = "limit=-1&algorithm=x&locations=1_2.3&windows=2.5&drawn=12&seed=7&shape=steady";
    expect(fromQuery(query)).toEqual({ ...DEFAULT_SETTING, seed: 7, shape: "steady" });
    expect(fromQuery("locations=1_0.1_0.1_0.1_0.1_0.1_0").locations).toEqual(DEFAULT_SETTING.locations);
  });
});

it("says what is wrong about a setting that no policy may have", async () => {
  const setting: Setting = { ...DEFAULT_SETTING, algorithm: "sliding-log", consistency: "leased" };
  await expect(run(setting)).rejects.toThrow(/consistency|algorithm/);
});
