// Lines that a gateway has recorded: how they are decided again, and where that differs from what they say.

import { describe, expect, it } from "vitest";
import { replay } from "../../../../src/cli/replay/engine/replay.ts";
import { API, configuration, logOf, recordedAt, run } from "./logs.ts";

describe("recorded lines", () => {
  const log = { isRecorded: true };
  const line = (afterMs: number, allowed: boolean, source = "redis") =>
    recordedAt(afterMs, [{ policy: "api" }], { allowed, source });

  it("are decided with their own keys, costs, plans and regions", async () => {
    const policy = {
      name: "api",
      plans: { pro: { "api-1": 20 } },
      limits: [
        { limit: 10, window: "1m" },
        { limit: 4, window: "1m", scope: "region" },
      ],
    };
    const take = { policy: "api", cost: 4 };
    const entries = [
      recordedAt(0, [take]),
      recordedAt(1, [take], { region: "na" }),
      recordedAt(2, [take], { region: "as", allowed: false }),
      recordedAt(3, [{ ...take, plan: "pro" }], { region: "as" }),
      recordedAt(4, [{ ...take, partition: "b", kind: "bearer" }]),
      recordedAt(5, [{ ...take, partition: "b", kind: "bearer" }], { allowed: false }),
    ];
    const { configurations, notes } = await run(entries, [policy], { log });
    expect(notes).toEqual([
      "wrangler.toml: all of 6 decisions that were recorded with the source redis are the same in the replay",
    ]);
    expect(configurations[0]!.policies[0]!.topRefused).toEqual([
      { client: "AAAAAAAAAAAAAAAAAAAAAA", kind: "ip", requests: 4, refused: 1 },
      { client: "b", kind: "bearer", requests: 2, refused: 1 },
    ]);
  });

  it("of one millisecond are decided with the admitted ones first", async () => {
    const entries = [...Array<boolean>(3).fill(false), ...Array<boolean>(10).fill(true)].map((allowed) =>
      line(7, allowed),
    );
    const { notes } = await run(entries, [API], { log: { ...log, batchSize: 4 } });
    expect(notes).toHaveLength(1);
    expect(notes[0]).toMatch("all of 13 decisions");
  });

  it("that the configuration decides otherwise are counted by who had answered", async () => {
    const entries = [line(0, false, "fallback"), ...Array.from({ length: 11 }, (_, i) => line(i + 1, true, "lease"))];
    const { notes } = await run(entries, [API], { log });
    expect(notes).toEqual([
      "wrangler.toml: 1 of 1 decisions that were recorded with the source fallback differ in the replay: 0 admitted ones are refused, 1 refused ones are admitted",
      "wrangler.toml: 2 of 11 decisions that were recorded with the source lease differ in the replay: 2 admitted ones are refused, 0 refused ones are admitted",
    ]);
  });

  it("stay refused where a policy refused that cannot be replayed, and charge nothing", async () => {
    const slots = { name: "slots", limits: [{ algorithm: "concurrency", limit: 1 }] };
    const trial = { ...slots, name: "trial", mode: "shadow" };
    const refused = { policy: "slots", refused: true } as const;
    const entries = [
      ...Array.from({ length: 9 }, (_, i) => recordedAt(i, [{ policy: "api" }, { policy: "slots" }])),
      recordedAt(10, [{ policy: "api" }, refused], { allowed: false }),
      recordedAt(11, [{ policy: "api" }, { policy: "trial", refused: true }]),
      recordedAt(12, [{ policy: "api", refused: true }, refused], { allowed: false }),
    ];
    const lacking = { duration: "how long a request took" };
    const { configurations, notes } = await run(entries, [API, slots, trial], { log: { ...log, lacking } });
    expect(notes).toEqual([
      "wrangler.toml: 2 requests stay refused as recorded: the policy slots, which is not replayed, refused",
      "wrangler.toml: all of 12 decisions that were recorded with the source redis are the same in the replay",
    ]);
    const [{ requests, policies, skipped }] = configurations as [(typeof configurations)[0]];
    expect(requests).toEqual({ requests: 12, refused: 2 });
    expect(policies).toMatchObject([{ policy: "api", requests: 12, refused: 1 }]);
    expect(skipped.map(({ policy }) => policy)).toEqual(["slots", "trial"]);
  });

  it("stay refused by a skipped policy as the live document has it, where the gateway refused", async () => {
    const slots = { name: "slots", limits: [{ algorithm: "concurrency", limit: 1 }] };
    const takes = [{ policy: "slots", refused: true } as const];
    const entries = [recordedAt(0, takes), recordedAt(1, takes, { allowed: false })];
    const refused = async (mode: string, liveMode: "shadow" | "enforce") => {
      const live = { policies: { slots: { mode: liveMode } }, overrides: [] };
      const configurations = [{ ...configuration([{ ...slots, mode }]), live }];
      const recorded = logOf(entries, { ...log, lacking: { duration: "FIELD" } });
      const { configurations: found, notes } = await replay({ log: recorded, configurations });
      expect(notes.join()).not.toContain("does nothing");
      return [found[0]!.requests.refused, found[0]!.skipped[0]!.mode];
    };
    expect(await refused("shadow", "enforce")).toEqual([1, "enforce"]);
    expect(await refused("enforce", "shadow")).toEqual([0, "shadow"]);
  });

  it.each([
    [{ key: ["bearer"] }, "its key differs, and recorded lines hold the old one"],
    [{ match: { path: "/a" } }, "its match differs, and recorded lines hold the old one"],
    [{ exempt: ["10.0.0.0/8"] }, "its exempt differs, and recorded lines hold the old one"],
    [{ except: { path: "/a" } }, "its except differs, and recorded lines hold the old one"],
    [
      { cost: [{ path: "/a", cost: 2 }], plans: { pro: { api: 5 } } },
      "its cost, plan names differ, and recorded lines hold the old ones",
    ],
    [{ plan: "header:x-plan", plans: { free: { api: 5 } } }, "its plan differs, and recorded lines hold the old one"],
  ])("cannot try %j", async (fields, reason) => {
    const plans = "plan" in fields ? { plans: { free: { api: 7 } } } : {};
    const configurations = [
      configuration([{ ...API, ...plans }]),
      configuration([{ ...API, ...fields, limits: [{ limit: 2, window: "1m" }] }], {}, "b.toml"),
    ];
    const entries = Array.from({ length: 5 }, (_, i) => line(i, true));
    const { comparison, configurations: found, notes } = await replay({ log: logOf(entries, log), configurations });
    expect(found[1]!.skipped).toEqual([{ policy: "api", reason, mode: "enforce" }]);
    expect(comparison).toMatchObject({ policies: [], unknown: ["api"] });
    expect(notes).toContain(`The comparison leaves out the policy api: ${reason}`);
  });

  it("try other numbers, also of plans", async () => {
    const other = { ...API, limits: [{ limit: 1, window: "1m" }], plans: { pro: { api: 2 } } };
    const configurations = [configuration([{ ...API, plans: { pro: { api: 20 } } }]), configuration([other])];
    const { comparison } = await replay({ log: logOf([line(0, true), line(1, true)], log), configurations });
    expect(comparison).toMatchObject({ requests: { newlyRefused: { requests: 1 } }, unknown: [] });
  });

  it("name policies that the configuration lacks, and the other way round", async () => {
    const entries = [recordedAt(0, [{ policy: "gone" }]), recordedAt(1, [{ policy: "gone" }, { policy: "api" }])];
    const { configurations } = await run(entries, [API, { ...API, name: "fresh" }], { log });
    expect(configurations[0]!.requests.requests).toBe(2);
    expect(configurations[0]!.policies.map(({ policy }) => policy)).toEqual(["api"]);
    expect(configurations[0]!.skipped).toEqual([
      { policy: "fresh", reason: "no recorded line names it", mode: "enforce" },
      { policy: "gone", reason: "2 recorded lines name it, and the configuration does not have it" },
    ]);
  });
});
