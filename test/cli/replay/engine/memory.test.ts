// Long lines and URLs of a log do not stay in memory because a part of them is kept.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { Clients } from "../../../../src/cli/replay/engine/clients.ts";
import { ConfigurationRun } from "../../../../src/cli/replay/engine/configuration-run.ts";
import { replay } from "../../../../src/cli/replay/engine/replay.ts";
import { API, configuration, logOf, recordedAt, requestAt, runOptions, START_MS } from "./logs.ts";

/** After collecting what nobody needs any more. */
function heapBytes(): number {
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  collect();
  return process.memoryUsage().heapUsed;
}

describe("clients and paths that are kept", () => {
  it("keep no lines in memory of which clients are parts", async () => {
    const lineBytes = 100_000;
    const clientOf = (i: number) => `client number ${i}${" ".repeat(lineBytes)}`.slice(0, -lineBytes);
    const others = new Clients(0);
    const entryOf = (i: number) => recordedAt(i, [{ policy: "api", partition: clientOf(i), cost: 5 }]);
    const log = {
      ...logOf([], { isRecorded: true }),
      async *batches() {
        for (let i = 0; i < 200; i++) yield [entryOf(i)];
      },
    };
    const before = heapBytes();
    for (let i = 0; i < 200; i++) others.numberOf("ip", clientOf(i));
    let grownBytes = Number.NaN;
    const onProgress = (requests: number) => {
      if (requests === 199) grownBytes = heapBytes() - before;
    };
    const configurations = [configuration([API]), configuration([{ ...API, limits: [{ limit: 1, window: "1m" }] }])];
    const { comparison } = await replay({ log, configurations, onProgress });
    expect(comparison!.requests.newlyRefused.clients).toBe(200);
    expect(grownBytes).toBeLessThan(50 * lineBytes);
    others.sweep(() => true);
  });

  it("keep no queries in memory of which the paths are remembered", async () => {
    const queryBytes = 100_000;
    const { settings } = configuration([API]);
    const run = new ConfigurationRun({ name: "", settings }, runOptions());
    const before = heapBytes();
    for (let i = 0; i < 200; i++) {
      const url = ["https://api.example.com/things/", `${i}`, "?", "q".repeat(queryBytes)].join("");
      run.decide(requestAt(i, { url }), i, START_MS + i, 0);
    }
    run.decide(requestAt(200), 200, START_MS + 200, 0);
    expect(heapBytes() - before).toBeLessThan(50 * queryBytes);
    expect(run.policies[0]!.requests).toBe(201);
  });
});
