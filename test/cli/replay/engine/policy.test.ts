// What a replay counts for a policy: requests, units, clients, peaks and time, and what is blocked or exempt.

import { describe, expect, it } from "vitest";
import { replay } from "../../../../src/cli/replay/engine/replay.ts";
import { API, configuration, hashOf, logOf, requestAt, requests, run, START_MS } from "./logs.ts";

describe("a policy", () => {
  it("has its requests, units and clients, refused ones and those that come near a limit", async () => {
    const entries = [
      ...requests(13, "192.0.2.1"),
      ...requests(8, "192.0.2.2"),
      ...requests(7, "192.0.2.3"),
      requestAt(0, { ip: "192.0.2.4", method: "PUT" }),
      requestAt(0, { ip: "192.0.2.5", url: "https://api.example.com/free" }),
    ].sort((a, b) => a.atMs - b.atMs);
    const policy = { ...API, match: { path: "/v1/*" }, cost: [{ method: "PUT", cost: 10 }] };
    const { configurations, log, notes } = await run(entries, [policy]);
    expect(log).toEqual({ files: 1, bytes: 1_000, lines: 30, requests: 30, fromMs: START_MS, toMs: START_MS + 12_000 });
    expect(notes).toEqual([]);
    const { requests: all, policies, skipped } = configurations[0]!;
    expect([all, skipped]).toEqual([{ requests: 30, refused: 3 }, []]);
    expect(policies).toMatchObject([
      {
        ...{ policy: "api", mode: "enforce", requests: 29, refused: 3, units: 38, refusedUnits: 3 },
        ...{ clients: 4, refusedClients: 1, nearMisses: 2 },
        limits: [{ id: "api", words: "10 per 1m, sliding-window", refused: 3 }],
        topRefused: [{ client: await hashOf("192.0.2.1"), kind: "ip", requests: 13, refused: 3 }],
      },
    ]);
    // 7 and 8 of 10 units, all 10, and the client that was refused.
    expect(policies[0]!.limits[0]!.peaks).toEqual([0, 0, 0, 0, 0, 0, 1, 1, 0, 1, 1]);
    const { timeline } = policies[0]!;
    expect(timeline.admitted).toEqual([4, 3, 3, 3, 3, 3, 3, 2, 1, 1, 0, 0, 0]);
    expect(timeline.refused).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1]);
    expect([timeline.fromMs, timeline.stepMs]).toEqual([START_MS, 1_000]);
  });

  it("names the ten clients that were refused most often", async () => {
    const entries = Array.from({ length: 15 }, (_, i) => requests(10 + i, `192.0.2.${i}`, i)).flat();
    const { configurations } = await run(
      entries.sort((a, b) => a.atMs - b.atMs),
      [API],
    );
    const { topRefused, refusedClients } = configurations[0]!.policies[0]!;
    expect(refusedClients).toBe(14);
    expect(topRefused.map(({ refused }) => refused)).toEqual([14, 13, 12, 11, 10, 9, 8, 7, 6, 5]);
    expect(topRefused[0]!.client).toBe(await hashOf("192.0.2.14"));
  });

  it("counts blocked requests as refused, and exempt ones not at all", async () => {
    const override = async (ip: string, effect: object) => ({
      policy: "api",
      kind: "ip",
      key: await hashOf(ip),
      ...effect,
    });
    const until = new Date(START_MS + 2_000).toISOString();
    const overrides = [
      await override("192.0.2.1", { block: true, until }),
      await override("192.0.2.2", { exempt: true }),
    ];
    const live = { policies: { gone: {} }, overrides };
    const configurations = [{ ...configuration([API]), live }];
    const entries = [...requests(3, "192.0.2.1"), ...requests(20, "192.0.2.2", 3_000)];
    const summary = await replay({ log: logOf(entries), configurations });
    expect(summary.configurations[0]!.requests).toEqual({ requests: 23, refused: 2 });
    expect(summary.configurations[0]!.policies[0]).toMatchObject({ requests: 3, refused: 2, clients: 1 });
    expect(summary.notes).toEqual([
      "wrangler.toml: the live document's policies.gone does nothing: no policy has this name",
    ]);
  });
});
