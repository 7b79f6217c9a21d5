// A replay as a whole: its clock, what it leaves out, its progress, its end, and the secret of its hashes.

import { describe, expect, it } from "vitest";
import { replay } from "../../../../src/cli/replay/engine/replay.ts";
import { API, configuration, logOf, recordedAt, requestAt, requests, run, START_MS } from "./logs.ts";

describe("a run", () => {
  it("charges what the status of the answer leaves charged", async () => {
    const statuses = [401, 200, 401, 304, undefined, 500, 200, 399, 400, 200, 401];
    const entries = statuses.map((status, i) => requestAt(i, status === undefined ? {} : { status }));
    const policy = (count: string) => ({ name: count, count, limits: [{ limit: 5, window: "1m" }] });
    const shadow = { ...policy("successes"), mode: "shadow" };
    const { configurations, notes } = await run(entries, [policy("failures"), shadow]);
    const [failures, successes] = configurations[0]!.policies;
    // The fifth failure (one is a request without a status) comes before two requests, the fifth success before three.
    expect([failures!.refused, successes!.refused, failures!.nearMisses]).toEqual([2, 3, 0]);
    expect(notes.filter((note) => note.includes("by the statuses of the log"))).toHaveLength(2);
  });

  it("without refusals is near a limit only by what stays charged", async () => {
    const entries = [200, 401, 200].map((status, i) => requestAt(i, { status }));
    const policy = { name: "api", count: "failures", limits: [{ limit: 2, window: "1m" }] };
    const { configurations } = await run(entries, [policy]);
    expect(configurations[0]!.policies[0]).toMatchObject({ refused: 0, nearMisses: 0 });
  });

  it("leaves out a policy with count where decisions were recorded before the answer", async () => {
    const log = { isRecorded: true, lacking: { status: "the status of the answer" } };
    const { configurations } = await run([recordedAt(0, [{ policy: "api" }])], [{ ...API, count: "failures" }], {
      log,
    });
    const reason = "its count needs the status of the answer, which the log does not have";
    expect(configurations[0]!.skipped).toEqual([{ policy: "api", reason, mode: "enforce" }]);
  });

  it("follows the log's clock, and never goes back", async () => {
    const { log } = await run([requestAt(5_000), requestAt(1_000), requestAt(2_000)], [API]);
    expect([log.fromMs, log.toMs]).toEqual([START_MS + 5_000, START_MS + 5_000]);
  });

  it("leaves out what the gateway answers itself, and says how much", async () => {
    const paths = [
      "/.headgate/health",
      "//.HeadGate/limits?a",
      "/x/../%2eheadgate",
      "/.headgates",
      "/x?a=/.headgate/",
      "/",
    ];
    const entries = paths.map((path, i) => requestAt(i, { url: `https://api.example.com${path}` }));
    const policy = { ...API, limits: [{ limit: 2, window: "1m" }] };
    const { log, configurations, notes } = await run(entries, [policy]);
    expect([log.requests, log.fromMs]).toEqual([3, START_MS + 3]);
    expect(configurations[0]!.requests).toEqual({ requests: 3, refused: 1 });
    const own = "the gateway answers such requests itself, and counts none of them";
    expect(notes).toEqual([`3 requests of paths under /.headgate/ are left out: ${own}`]);
    const recorded = await run([recordedAt(0, [{ policy: "api" }])], [API], { log: { isRecorded: true } });
    expect(recorded.log.requests).toBe(1);
  });

  it("leaves out requests from addresses that a policy exempts, and counts them under the others", async () => {
    const entries = [...requests(12, "10.1.2.3"), ...requests(12, "192.0.2.1")];
    const policies = [
      { ...API, exempt: ["10.0.0.0/8"] },
      { ...API, name: "site", key: ["global"], limits: [{ limit: 100, window: "1m" }] },
    ];
    const { configurations } = await run(entries, policies);
    const [found] = configurations;
    expect(found!.policies.map(({ policy, requests, refused }) => [policy, requests, refused])).toEqual([
      ["api", 12, 2],
      ["site", 24, 0],
    ]);
    expect(found!.requests).toEqual({ requests: 24, refused: 2 });
  });

  it("tells its progress, and ends with the reason of a signal", async () => {
    const told: number[] = [];
    const controller = new AbortController();
    const reason = new Error("enough");
    const input = {
      log: { batchSize: 10 },
      signal: controller.signal,
      onProgress(requests: number) {
        told.push(requests);
        if (requests === 30) controller.abort(reason);
      },
    };
    await expect(run(requests(100, "192.0.2.1"), [API], input)).rejects.toBe(reason);
    expect(told).toEqual([10, 20, 30]);
  });

  it("hashes clients under a secret of its own if it does not know the gateway's", async () => {
    const { settings } = configuration([API]);
    const configurations = [{ name: "a.toml", settings: { ...settings, keySecret: undefined } }];
    const clients = async () => {
      const { configurations: found, notes } = await replay({ log: logOf(requests(11, "192.0.2.1")), configurations });
      expect(notes).toEqual([
        "a.toml: clients are hashed under a secret of this run, because the gateway's key secret is not known here",
      ]);
      return found[0]!.policies[0]!.topRefused[0]!.client;
    };
    expect(await clients()).not.toBe(await clients());
  });
});
