// What a document means under the running configuration. What that does not know is skipped and listed; the rest holds.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { applyLive } from "../../../src/features/live/apply.ts";
import { readLive } from "../../../src/features/live/document.ts";
import { type LiveView, viewOf } from "../../../src/features/live/view.ts";
import type { Policy } from "../../../src/kernel/core/policy.ts";
import { numbersOf as withNumbersOf } from "../../../src/kernel/limiter/numbers.ts";
import { checkDocument } from "../../../src/operate/admin/check-document.ts";
import { draws, expectReached } from "../../support/cases/draws.ts";
import { documents } from "./documents.ts";
import { ANN, BOB, OWN_SECRET, POLICIES, policyOf, WITH_PLANS } from "./policies.ts";

const NOW_MS = Date.parse("2026-11-22T12:00:00Z");

function view(document: object, policies: readonly Policy[] = WITH_PLANS): LiveView {
  const read = readLive(JSON.stringify({ policies: {}, overrides: [], ...document }));
  return viewOf(1, read!, policies, OWN_SECRET);
}
const ofPolicies = (policies: object) => view({ policies });
/** A view with an override of Ann under a policy. */
const ofAnn = (policy: string, override: object) =>
  view({ overrides: [{ policy, kind: "ip", key: ANN, ...override }] });

const numbersOf = ({ limits }: Policy) => Object.fromEntries(limits.map(({ id, limit }) => [id, limit]));
const numbers = (one: LiveView, policy: string) => numbersOf(one.policy(policyOf(policy)));
const clientNumbers = (one: LiveView, policy: string, key = ANN) => {
  const inForce = one.policy(policyOf(policy));
  return numbersOf(one.client(policy, key, NOW_MS)?.policy(inForce) ?? inForce);
};
const paths = ({ ignored }: LiveView) => ignored.map(({ path }) => path);

describe("policies", () => {
  it("that the document does not name, or does not change, are the very same", () => {
    const one = view({ policies: { login: {} } }, POLICIES);
    for (const name of ["api", "login"]) expect(one.policy(policyOf(name))).toBe(policyOf(name));
  });

  it.each<[string, unknown, string]>([
    ["that are gone", { gone: { mode: "shadow" } }, "policies.gone"],
    ["with names of members of every object", { toString: { mode: "shadow" } }, "policies.toString"],
    ["that are null", { api: null }, "policies.api"],
    ["whose mode is unknown", { api: { mode: "off" } }, "policies.api.mode"],
    ["with a limit that was renamed", { api: { limits: { api: 5 } } }, "policies.api.limits.api"],
    ["with the number 0", { api: { limits: { "api-1": 0 } } }, "policies.api.limits.api-1"],
    ["with a number too large for its window", { month: { limits: { month: 4e6 } } }, "policies.month.limits.month"],
  ])("%s are listed, and the others hold", (_what, changes, path) => {
    const one = ofPolicies({ ...(changes as object), bucket: { limits: { bucket: 3 } } });
    expect(paths(one)).toEqual([path]);
    expect(numbers(one, "bucket")).toEqual({ bucket: 3 });
    expect([numbers(one, "api"), one.policy(policyOf("api")).mode]).toEqual([{ "api-1": 10, "api-2": 600 }, "enforce"]);
  });

  it("named __proto__ in the text are unknown ones, and change nothing", () => {
    const text = '{"policies":{"__proto__":{"mode":"shadow"},"api":{"limits":{"__proto__":5}}},"overrides":[]}';
    const one = viewOf(1, readLive(text)!, POLICIES, OWN_SECRET);
    expect(paths(one)).toEqual(["policies.__proto__", "policies.api.limits.__proto__"]);
    expect(one.policy(policyOf("login")).mode).toBe("enforce");
    expect(({} as { mode?: string }).mode).toBeUndefined();
  });
});

describe("clients", () => {
  it("are found by policy and partition", () => {
    const one = ofAnn("api", { limits: { "api-1": 50 } });
    expect(clientNumbers(one, "api")).toEqual({ "api-1": 50, "api-2": 600 });
    expect(clientNumbers(one, "api", BOB)).toEqual({ "api-1": 10, "api-2": 600 });
    expect(one.client("login", ANN, NOW_MS)).toBeUndefined();
  });

  it("get limits multiplied, rounded down, at least 1, bursts too", () => {
    expect(clientNumbers(ofAnn("api", { factor: 1.55 }), "api")).toEqual({ "api-1": 15, "api-2": 930 });
    expect(clientNumbers(ofAnn("api", { factor: 0.001 }), "api")).toEqual({ "api-1": 1, "api-2": 1 });
    const one = ofAnn("bucket", { factor: 2.5 });
    const [limit] = one.client("bucket", ANN, NOW_MS)!.policy(policyOf("bucket")).limits;
    expect(limit).toMatchObject({ limit: 25, burst: 50 });
  });

  it("get numbers and factors of what is in force for everybody", () => {
    const overrides = [
      { policy: "api", kind: "ip", key: ANN, factor: 3 },
      { policy: "api", kind: "ip", key: BOB, limits: { "api-1": 7 } },
    ];
    const one = view({ policies: { api: { mode: "shadow", limits: { "api-2": 100 } } }, overrides });
    expect(clientNumbers(one, "api")).toEqual({ "api-1": 30, "api-2": 300 });
    expect(clientNumbers(one, "api", BOB)).toEqual({ "api-1": 7, "api-2": 100 });
    expect(one.client("api", ANN, NOW_MS)!.policy(one.policy(policyOf("api"))).mode).toBe("shadow");
  });

  it("have their numbers computed once", () => {
    const client = ofAnn("api", { factor: 2 }).client("api", ANN, NOW_MS)!;
    expect(client.policy(policyOf("api"))).toBe(client.policy(policyOf("api")));
  });

  it.each([
    ["2026-11-22T12:00:00.001Z", true],
    ["2026-11-22T14:00:01+02:00", true],
    ["2026-11-22T12:00:00Z", false],
    ["2026-11-22T12:00:00.500+01:00", false],
    [undefined, true],
  ])("with until %s are found: %s", (until, isFound) => {
    const one = ofAnn("api", { block: true, ...(until && { until }) });
    expect([one.client("api", ANN, NOW_MS) !== undefined, one.ignored]).toEqual([isFound, []]);
  });

  it.each<[string, object]>([
    ["no policy", { policy: undefined }],
    ["no key", { key: undefined }],
    ["no instant in until", { until: "tomorrow" }],
    ["a table in until that cannot be a text", { until: { toString: 1, valueOf: 1 } }],
  ])("with %s are not changed, and listed", (_what, wrong) => {
    const one = ofAnn("api", { block: true, exempt: true, limits: { "api-1": 1 }, ...wrong });
    expect(paths(one)).toEqual(["overrides[0]"]);
    expect(one.client("api", ANN, NOW_MS)).toBeUndefined();
  });

  it.each<[field: string, wrong: object, kept?: object]>([
    ["limits.api", { limits: { "api-2": 9, api: 5 } }, { limits: { "api-2": 9 } }],
    ["limits", { limits: [1, 2] }],
    ["plan", { plan: "pro" }],
    ["factor", { factor: 0 }],
    ["factor", { factor: 2e6 }],
    ["exempt", { exempt: "no" }],
    ["note", { note: "" }],
    ["note", { note: "n".repeat(501) }],
  ])("with a wrong %s keep the rest of their override", (field, wrong, kept) => {
    const one = ofAnn("api", { block: true, ...wrong });
    expect(paths(one)).toEqual([`overrides[0].${field}`]);
    const { override } = one.client("api", ANN, NOW_MS)!;
    expect(override).toEqual({ policy: "api", kind: "ip", key: ANN, block: true, ...kept });
  });

  it("keep a plan that the policy has", () => {
    expect(ofAnn("slots", { plan: "pro" }).client("slots", ANN, NOW_MS)!.override.plan).toBe("pro");
    expect(paths(ofAnn("slots", { plan: "team" }))).toEqual(["overrides[0].plan"]);
  });

  it("keep no factor that fits by itself and does not fit the numbers in force", () => {
    const changed = { policies: { month: { limits: { month: 3_000_000 } } } };
    const overrides = [{ policy: "month", kind: "ip", key: ANN, factor: 1_000 }];
    expect(view({ overrides }).ignored).toEqual([]);
    const one = view({ ...changed, overrides });
    expect(paths(one)).toEqual(["overrides[0].factor"]);
    expect(clientNumbers(one, "month")).toEqual({ month: 3_000_000 });
    // Numbers and a factor side by side are written by hand only.
    const both = ofAnn("month", { limits: { month: 3_000_000 }, factor: 1_000 });
    expect([paths(both), clientNumbers(both, "month")]).toEqual([["overrides[0].factor"], { month: 3_000_000 }]);
  });

  it.each([[null], [[[]]]])("are not %j: such an entry is listed, and the others hold", (entry) => {
    const one = view({ overrides: [entry, { policy: "api", kind: "ip", key: ANN, factor: 2 }] });
    expect(paths(one)).toEqual(["overrides[0]"]);
    expect(clientNumbers(one, "api")).toEqual({ "api-1": 20, "api-2": 1200 });
  });
});

describe("unknown entries", () => {
  const ann = (override: object) => ({ policy: "api", kind: "ip", key: ANN, ...override });

  it.each<[string, object, first: string[]]>([
    ["overrides[0]", ann({ policy: "gone", block: true }), ["overrides[0]"]],
    ["overrides[0].limits.api", ann({ limits: { "api-1": 5, api: 5 } }), ["overrides[0].limits.api"]],
    ["overrides[0].plan", ann({ plan: "pro" }), ["overrides[0].plan"]],
    // A number that does not fit is found when somebody asks.
    ["overrides[0].limits.api-1", ann({ limits: { "api-1": 0 } }), []],
  ])("are found at once: %s", (path, override, first) => {
    const one = view({ overrides: [override] });
    expect([one.unknown.first.map((one) => one.path), one.unknown.more, paths(one)]).toEqual([first, 0, [path]]);
  });

  it("are named up to 20, with those of policies first, and all are listed", () => {
    const policies = Object.fromEntries(Array.from({ length: 22 }, (_, i) => [`gone${i}`, {}]));
    const overrides = Array.from({ length: 5 }, () => ann({ policy: "gone", block: true }));
    const one = view({ policies, overrides });
    expect([one.unknown.first.at(-1)?.path, one.unknown.first.length]).toEqual(["policies.gone19", 20]);
    expect([one.unknown.more, one.ignored.length]).toEqual([7, 27]);
  });
});

describe("a block", () => {
  const soon = (ms: number) => new Date(NOW_MS + ms).toISOString();
  const of = (policy: string, effect: object) => ({ policy, kind: "ip", key: ANN, ...effect });

  it.each<[string, object[], number | undefined]>([
    ["without an end", [of("api", { block: true })], undefined],
    ["that ends", [of("api", { block: true, until: soon(5_000) })], 5_000],
    [
      "and a longer one",
      [of("api", { block: true, until: soon(60_000) }), of("login", { block: true, until: soon(5_000) })],
      60_000,
    ],
    [
      "and one without an end",
      [of("api", { block: true }), of("login", { block: true, until: soon(5_000) })],
      undefined,
    ],
    [
      "beside an override that ends later",
      [of("api", { block: true, until: soon(5_000) }), of("login", { factor: 2, until: soon(60_000) })],
      5_000,
    ],
  ])("%s refuses for as long as it lasts", (_what, overrides, retryAfterMs) => {
    const takes = ["api", "login"].map((name) => ({ policy: policyOf(name), kind: "ip", partition: ANN, cost: 1 }));
    const apply = (options: object) =>
      applyLive(view({ overrides }), takes, NOW_MS, withNumbersOf(WITH_PLANS), options);
    const { blocked } = apply({});
    expect(blocked).toMatchObject({ outcome: "blocked", source: "live", limits: [] });
    expect(blocked!.retryAfterMs).toBe(retryAfterMs);
    // Whoever asks for counts sees the numbers.
    expect([apply({ asCounted: true }).blocked, apply({ asCounted: true }).applied.length]).toEqual([undefined, 2]);
  });
});

describe("another key secret", () => {
  const overrides = [{ policy: "api", kind: "ip", key: ANN, block: true }];
  const policies = { api: { mode: "shadow" } };

  it("leaves the policies' own entries in force, and finds no client", () => {
    const one = view({ secret: "old", policies, overrides });
    expect([one.hasOtherSecret, one.ignored, one.policy(policyOf("api")).mode]).toEqual([true, [], "shadow"]);
    expect(one.client("api", ANN, NOW_MS)).toBeUndefined();
  });

  it.each([
    ["the same secret", { secret: OWN_SECRET, overrides }],
    ["no fingerprint", { overrides }],
    ["no overrides", { secret: "old" }],
    ["a fingerprint that is no text", { secret: 5, overrides }],
  ])("is not seen with %s", (_what, document) => {
    expect(view(document).hasOtherSecret).toBe(false);
  });
});

describe("whatever the text", () => {
  const everyone = POLICIES.flatMap((policy) =>
    [ANN, BOB].map((partition) => ({ policy, kind: "ip", partition, cost: 1 })),
  );

  it("reading it never throws, and the numbers in force can be computed with", () => {
    fc.assert(
      fc.property(documents(false), (document) => {
        const read = readLive(JSON.stringify(document));
        if (!read) return;
        const one = viewOf(1, read, WITH_PLANS, OWN_SECRET);
        // What is named at once is what is listed when asked.
        expect(one.ignored).toEqual(expect.arrayContaining([...one.unknown.first]));
        const hasUnknown = one.ignored.some(({ reason }) => UNKNOWN.test(reason));
        if (hasUnknown) expect(one.unknown.first).not.toEqual([]);
        const { applied, blocked } = applyLive(one, everyone, NOW_MS, withNumbersOf(WITH_PLANS));
        expect(checkNumbers(applied.map(({ policy }) => policy))).toEqual([]);
        if (blocked?.retryAfterMs !== undefined) expect(blocked.retryAfterMs).toBeGreaterThanOrEqual(1);
      }),
      draws(1_000),
    );
  });

  it("what may be written is never ignored", () => {
    let accepted = 0;
    fc.assert(
      fc.property(documents(true), (document) => {
        const written = JSON.parse(JSON.stringify(document));
        if (checkDocument(written, POLICIES).length > 0) return;
        accepted++;
        const read = readLive(JSON.stringify(written));
        expect(viewOf(1, read!, POLICIES, OWN_SECRET).ignored).toEqual([]);
      }),
      draws(1_000),
    );
    expectReached(accepted, 100);
  });
});

const UNKNOWN = /^(no policy has this name|no limit has this id|the policy has no plan of this name)$/;

const LARGEST = new Map([
  ["log", 10_000],
  ["month", 3_362_902],
]);

/** The limits whose numbers the configuration would not allow. */
function checkNumbers(policies: readonly Policy[]): string[] {
  return policies.flatMap(({ limits }) =>
    limits.flatMap((limit) => {
      const largest = LARGEST.get(limit.id) ?? 1_000_000_000;
      const units = "burst" in limit ? [limit.limit, limit.burst] : [limit.limit];
      return units.every((one) => Number.isInteger(one) && one >= 1 && one <= largest) ? [] : [limit.id];
    }),
  );
}
