// The features on the way of a request, and their order.

import { describe, expect, it } from "vitest";
import { countedTwice } from "../../src/features/counted-twice/counted-twice.ts";
import { DEFAULTS } from "../../src/features/default.ts";
import { allFeatures } from "../../src/features/index.ts";
import { meter, providerErrors, unmetered } from "../../src/features/meter/on-the-way.ts";
import { inOrder, ORDER } from "../../src/features/order.ts";
import { rpc } from "../../src/features/rpc/on-the-way.ts";
import { ruledBy } from "../../src/features/rules/rules.ts";
import type { PolicyInput } from "../../src/kernel/config/policy-input.ts";
import { body } from "../../src/kernel/http/body.ts";
import { createWay, onTheWay } from "../../src/kernel/http/enforce.ts";
import type { Feature } from "../../src/kernel/http/feature.ts";
import { compileMatcher, type Verdict } from "../../src/kernel/http/match.ts";
import { FetchPassage } from "../../src/kernel/http/passage.ts";
import { memoryStore } from "../../src/kernel/store/memory.ts";
import { countsOnTheWay } from "../../src/operate/stats/on-the-way.ts";
import type { Counting } from "../../src/operate/stats/stats.ts";
import { createLimiter } from "../support/limiter.ts";

const OPTIONAL = allFeatures().flatMap(({ http }) => http ?? []);
const FEATURES = [...DEFAULTS, ...ruledBy({}), ...new Set(OPTIONAL)];
/** What the options `meter()` and `rpc()` of a limiter bring. */
const [METER, RPC] = [
  [body, meter([]), unmetered, providerErrors],
  [body, rpc],
];
const limits = [{ limit: 9, window: "1d" }] as const;
const limiterOf = (more: Partial<PolicyInput> = {}) =>
  createLimiter({ policies: [{ name: "all", key: "global", limits, ...more } as PolicyInput], store: memoryStore() });
const optionsOf = (features: readonly Feature[], more?: Partial<PolicyInput>) =>
  ({ limiter: limiterOf(more), features, rateLimitHeaders: "none", regionOf: () => "eu" }) as const;
const namesOf = (features: readonly Feature[]) => features.map(({ name }) => name);

describe("the lists", () => {
  it("have every name of the order, and no other", () => {
    const needed = FEATURES.flatMap(({ needs = [] }) => needs);
    // Others only warn.
    const counting = countsOnTheWay({} as Counting, limiterOf().policies);
    const onTheWay = [...FEATURES, countedTwice, counting].filter(
      ({ name, isUsed }) => isUsed || needed.includes(name),
    );
    expect(new Set(namesOf(onTheWay))).toEqual(new Set(ORDER));
  });

  it.each([
    ["that every way has", DEFAULTS],
    ["with meters", [...DEFAULTS, ...METER]],
    ["with calls", [...DEFAULTS, ...RPC]],
  ])("%s have what their features need", (_, features) => {
    const names = namesOf(features);
    expect(features.flatMap(({ needs = [] }) => needs.filter((need) => !names.includes(need)))).toEqual([]);
  });
});

describe("on the way", () => {
  it.each<[what: string, more: Partial<PolicyInput>, expected: string[]]>([
    ["a policy that takes preflights, and uses nothing", {}, ["preflight"]],
    ["methods", { match: { method: "GET" } }, []],
    ["count", { match: { method: "POST" }, count: "failures" }, ["count", "reserve"]],
    ["tool", { match: { method: "POST", tool: "a" } }, ["body", "rpc"]],
    [
      "meter",
      { match: { method: "POST" }, meter: { unit: "tokens" } },
      ["meter", "reserve", "slots", "body", "unmetered", "providerErrors"],
    ],
  ])("%s: only what is used, and what that needs, in the order of the names", (_, more, expected) => {
    expect(namesOf(onTheWay(optionsOf(inOrder(FEATURES.toReversed()), more)))).toEqual(expected);
  });

  it("of two with one name the first counts", () => {
    expect(onTheWay(optionsOf(inOrder([...RPC, ...METER, ...RPC]), { match: { tool: "a" } }))).toEqual(RPC);
  });
});

it("the first is the outermost, and one that is not used is not asked at all", async () => {
  const seen: string[] = [];
  const noting = (name: string, isUsed = true): Feature => ({
    name,
    isUsed: () => isUsed,
    around: (inner) => ({
      async pass(passage) {
        seen.push(`${name} begins`);
        const answer = await inner.pass(passage);
        seen.push(`${name} ends`);
        return answer;
      },
    }),
  });
  const features = inOrder([noting("delay"), noting("once", false), noting("count")]);
  const { enter } = createWay(optionsOf(features));
  await enter(new FetchPassage(new Request("https://api.example/"), () => new Response()));
  expect(seen).toEqual(["count begins", "delay begins", "delay ends", "count ends"]);
});

// Any feature may decide a condition later than matching does, by whatever it reads: here each condition on a host.
describe("a condition that is decided later", () => {
  const MET = { host: "met.example" };
  const rules: readonly [what: string, more: object, perhaps: unknown, byVerdict: Record<Verdict, unknown>][] = [
    ["of match", { match: MET }, [1, 0], { yes: 1, no: undefined, perhaps: 1 }],
    ["of an exception", { except: MET }, [1, 0], { yes: undefined, no: 1, perhaps: 1 }],
    ["of a cost", { cost: [{ ...MET, cost: 5 }] }, [5, 1], { yes: 5, no: 1, perhaps: 5 }],
    ["of no cost", { cost: [{ ...MET, cost: 0 }] }, [1, 0], { yes: 0, no: 1, perhaps: 1 }],
    [
      "of a cost, before one that is decided",
      { cost: [{ ...MET, cost: 2 }, { cost: 7 }] },
      [7, 1],
      { yes: 2, no: 7, perhaps: 7 },
    ],
  ];
  const at = new Request("https://met.example/");

  it.each(rules)("%s: the most until then, and the units of each verdict", (_, more, perhaps, byVerdict) => {
    const { policies } = limiterOf(more);
    const [found] = compileMatcher(policies, ({ host }) => host !== undefined)(at);
    expect([found!.cost, found!.atLeast]).toEqual(perhaps);
    const found3 = Object.keys(byVerdict).map((one) => [one, found!.costBy!(() => one as Verdict)]);
    expect(Object.fromEntries(found3)).toEqual(byVerdict);
  });

  it("is none by default, and none of another policy", () => {
    expect(compileMatcher(limiterOf({ match: MET }).policies)(at)).toEqual([{ policy: expect.anything(), cost: 1 }]);
    expect(compileMatcher(limiterOf().policies, ({ host }) => host !== undefined)(at)[0]).not.toHaveProperty("costBy");
  });

  it("is not asked for where another exception leaves the request out", () => {
    const { policies } = limiterOf({ except: [MET, { path: "/" }] });
    expect(compileMatcher(policies, ({ host }) => host !== undefined)(at)).toEqual([]);
  });
});
