// The playground's figures are those of the limiter's own code.

import { runInNewContext } from "node:vm";
import { parse } from "smol-toml";
import { describe, expect, it } from "vitest";
import { WORST_MS } from "../../scripts/docs/algorithm-runs.ts";
import { EXAMPLES } from "../../site/playground/examples.ts";
import { codeOf, tomlOf } from "../../site/playground/policy.ts";
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
  const shapes = Object.keys(SHAPES) as (keyof typeof SHAPES)[];
  const many = shapes.flatMap((shape) => CONSISTENCIES.map((consistency) => [consistency, shape] as const));
  it.each(firstOf(many))("%s, %s: a browser's way of waiting gives the same figures", async (consistency, shape) => {
    const setting: Setting = {
      ...DEFAULT_SETTING,
      ...{ consistency, shape, locations: far, limit: 100, demand: 400, retries: true, outageFromS: 8, outageToS: 14 },
    };
    expect(await figures(setting, settleByHops, settleByHops)).toEqual(await figures(setting));
  });
});

describe("the link", () => {
  it.each(EXAMPLES)("holds the whole setting: $name", ({ setting }) => {
    const found = fromQuery(toQuery(setting));
    expect(found).toEqual(setting);
    expect(toQuery(found), "by this text the page knows its example").toBe(toQuery(setting));
  });

  it("that is wrong gives the default where it is wrong", () => {
    const query = "limit=-1&algorithm=x&locations=1_2.3&windows=2.5&drawn=12&seed=7&shape=steady";
    expect(fromQuery(query)).toEqual({ ...DEFAULT_SETTING, seed: 7, shape: "steady" });
    expect(fromQuery("locations=1_0.1_0.1_0.1_0.1_0.1_0").locations).toEqual(DEFAULT_SETTING.locations);
  });
});

/** What an example shows, of what it says: in this order. */
const SHOWN: Readonly<Record<string, readonly (keyof Awaited<ReturnType<typeof figures>>)[]>> = {
  "Burst at a boundary": ["mostInWindow"],
  "Exact log": ["mostInWindow"],
  "Clock 1.4 s ahead": ["mostInWindow"],
  "Store down": ["mostInWindow"],
  "Never waiting": ["mostInWindow", "calls"],
  "Waiting as told": ["retriesAdmitted", "retries"],
  "Others come first": ["retriesAdmitted", "retries"],
};

it.each(EXAMPLES)("shows what it says: $name", async ({ name, says, setting }) => {
  const shown = await figures(setting, settleByHops, settleByHops);
  for (const figure of SHOWN[name]!) expect(says.split(/\D+/), figure).toContain(String(shown[figure]));
});

describe("the policy to copy", () => {
  const settings = ALGORITHMS.flatMap((algorithm) =>
    CONSISTENCIES.map((consistency): Setting => ({ ...DEFAULT_SETTING, algorithm, consistency, burst: 7, buckets: 2 })),
  );
  it.each(settings)("$algorithm, $consistency: both forms are the policy of the run", (setting) => {
    const policies = parseFields(ALL, [policyInputOf(setting)], "policies");
    const { vars } = parse(tomlOf(setting)) as { vars: { POLICIES: unknown } };
    expect(parseFields(ALL, vars.POLICIES, "policies")).toEqual(policies);
    const code = codeOf(setting);
    const [, written] = /const policies = (\[[\s\S]*\]);/.exec(code)!;
    expect(parseFields(ALL, runInNewContext(written!), "policies")).toEqual(policies);
    expect(code.includes("features: ["), "leases() and shared() are features").toBe(setting.consistency !== "strict");
  });
});

it("says what is wrong about a setting that no policy may have", async () => {
  const setting: Setting = { ...DEFAULT_SETTING, algorithm: "sliding-log", consistency: "leased" };
  await expect(run(setting)).rejects.toThrow(/consistency|algorithm/);
});
