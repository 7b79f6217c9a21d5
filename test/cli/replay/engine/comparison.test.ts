// What changes between two configurations, and what is not known of it.

import { describe, expect, it } from "vitest";
import { replay } from "../../../../src/cli/replay/engine/replay.ts";
import { findFailure, parseFailIf } from "../../../../src/cli/replay/report/fail-if.ts";
import { API, configuration, hashOf, logOf, requests, START_MS } from "./logs.ts";

describe("two configurations", () => {
  const stricter = { name: "api", limits: [{ limit: 5, window: "1m" }] };

  it("are compared request by request, with the clients that change most", async () => {
    const entries = [...requests(9, "192.0.2.1"), ...requests(7, "192.0.2.2", 1), ...requests(3, "192.0.2.3", 2)];
    const configurations = [
      configuration([API, { name: "gone", limits: [{ limit: 1, window: "1h" }], mode: "shadow" }]),
      configuration([stricter, { name: "fresh", limits: [{ limit: 100, window: "1m" }] }], {}, "b.toml"),
    ];
    const log = logOf(entries.sort((a, b) => a.atMs - b.atMs));
    const { comparison } = await replay({ log, configurations });
    const example = { kind: "ip", policy: "api", request: "GET /v1/things" };
    const newlyRefused = {
      requests: 6,
      clients: 2,
      examples: [
        { ...example, client: await hashOf("192.0.2.1"), atMs: START_MS + 5_000, requests: 4 },
        { ...example, client: await hashOf("192.0.2.2"), atMs: START_MS + 5_001, requests: 2 },
      ],
    };
    const none = { requests: 0, clients: 0, examples: [] };
    expect(comparison).toEqual({
      requests: { newlyRefused, newlyAdmitted: none },
      policies: [{ policy: "api", newlyRefused, newlyAdmitted: none }],
      added: ["fresh"],
      removed: ["gone"],
      unknown: [],
    });
  });

  it("are compared without a policy that one of them skips", async () => {
    const other = { name: "other", limits: [{ limit: 6, window: "1m" }] };
    const lacking = { "key bearer": "FIELD" };
    const configurations = [
      configuration([stricter, other]),
      configuration([{ ...stricter, key: ["bearer"] }, other], {}, "b.toml"),
    ];
    const input = { log: logOf(requests(9, "192.0.2.1"), { lacking }), configurations };
    const { comparison, configurations: found, notes } = await replay(input);
    expect(found.map(({ requests: { refused } }) => refused)).toEqual([4, 3]);
    const none = { requests: 0, clients: 0, examples: [] };
    expect(comparison).toMatchObject({
      requests: { newlyRefused: none, newlyAdmitted: none },
      policies: [{ policy: "other", newlyRefused: none, newlyAdmitted: none }],
      unknown: ["api"],
    });
    expect(notes).toEqual([
      "The comparison leaves out the policy api: its key bearer needs FIELD, which the log does not have",
    ]);
  });

  it("know what changes if a policy that both skip is the same, or in shadow", async () => {
    const skipped = { ...API, key: ["bearer"] };
    const unknown = async (before: object, after: object) => {
      const log = logOf(requests(1, "192.0.2.1"), { lacking: { "key bearer": "FIELD" } });
      const { comparison } = await replay({ log, configurations: [configuration([before]), configuration([after])] });
      return comparison!.unknown;
    };
    expect(await unknown(skipped, skipped)).toEqual([]);
    expect(await unknown(skipped, { ...skipped, limits: stricter.limits })).toEqual(["api"]);
    const shadow = { mode: "shadow" };
    expect(await unknown({ ...skipped, ...shadow }, { ...stricter, key: ["bearer"], ...shadow })).toEqual([]);
  });

  it("do not know what changes if one of them skips a policy that one of them enforces", async () => {
    const skipped = { ...API, key: ["bearer"] };
    const shadow = { mode: "shadow" };
    const failure = async (before: object, after: object) => {
      const log = logOf(requests(1, "192.0.2.1"), { lacking: { "key bearer": "FIELD" } });
      const summary = await replay({ log, configurations: [configuration([before]), configuration([after])] });
      return findFailure(parseFailIf("newly-refused > 0"), summary, 0);
    };
    const unknown = "newly-refused > 0: not known, because api was not replayed";
    expect(await failure({ ...skipped, ...shadow }, API)).toBe(unknown);
    expect(await failure(API, { ...skipped, ...shadow })).toBe(unknown);
    expect(await failure({ ...skipped, ...shadow }, { ...API, ...shadow })).toBeUndefined();
  });

  it("admit more when a policy goes into shadow", async () => {
    const configurations = [configuration([stricter]), configuration([{ ...stricter, mode: "shadow" }])];
    const { comparison } = await replay({ log: logOf(requests(7, "192.0.2.1")), configurations });
    expect(comparison!.requests.newlyAdmitted).toMatchObject({ requests: 2, clients: 1 });
    expect(comparison!.policies[0]!.newlyAdmitted).toMatchObject({ requests: 2, clients: 1 });
  });

  it("are compared by what they would refuse if both are in shadow", async () => {
    const shadow = { mode: "shadow" };
    const configurations = [configuration([{ ...API, ...shadow }]), configuration([{ ...stricter, ...shadow }])];
    const { comparison } = await replay({ log: logOf(requests(7, "192.0.2.1")), configurations });
    expect(comparison!.requests.newlyRefused.requests).toBe(0);
    expect(comparison!.policies[0]!.newlyRefused.requests).toBe(2);
  });
});
