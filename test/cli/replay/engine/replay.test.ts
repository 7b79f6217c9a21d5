// A replay as a whole: its clock, what it leaves out, its progress, its end, and the secret of its hashes.

import { describe, expect, it } from "vitest";
import { replay } from "../../../../src/cli/replay/engine/replay.ts";
import { API, configuration, logOf, recordedAt, requestAt, requests, run, START_MS } from "./logs.ts";

describe("a run", () => {
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
