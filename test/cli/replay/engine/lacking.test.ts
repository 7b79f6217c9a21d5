// What a replay does without when the log lacks it, and how the report says so.

import { describe, expect, it } from "vitest";
import { replay } from "../../../../src/cli/replay/engine/replay.ts";
import type { LogEntry } from "../../../../src/cli/replay/log/format.ts";
import type { Bindings } from "../../../../src/config/settings.ts";
import { API, configuration, type LogOptions, logOf, requestAt, requests, run } from "./logs.ts";

describe("what the log lacks", () => {
  it.each([
    [{ key: ["header:x-user"] }, "key header:x-user", "its key header:x-user needs FIELD, which the log does not have"],
    [{ key: ["query:a+host"] }, "host", "its key host needs FIELD, which the log does not have"],
    [{ key: ["bearer"] }, "key ip", "its key ip needs FIELD, which the log does not have"],
    [{ match: { method: "GET" } }, "method", "its match.method needs FIELD, which the log does not have"],
    [{ match: { host: "a.example" } }, "host", "its match.host needs FIELD, which the log does not have"],
    [{ except: { host: "a" } }, "host", "its except[0].host needs FIELD, which the log does not have"],
    [{ match: { tool: "a" } }, "calls", "its match.tool needs FIELD, which the log does not have"],
    [{ cost: [{ rpc: "a", cost: 2 }] }, "calls", "its cost[0].rpc needs FIELD, which the log does not have"],
    [{ exempt: "10.0.0.0/8", key: ["global"] }, "key ip", "its exempt needs FIELD, which the log does not have"],
    [{ cost: [{ path: "/a", cost: 2 }] }, "path", "its cost[0].path needs FIELD, which the log does not have"],
    [{ plan: "header:x-plan", plans: { pro: { api: 2 } } }, "key header:x-plan", /^its plan header:x-plan needs FIELD/],
    [
      { limits: [{ ...API.limits[0], scope: "region" }] },
      "key country",
      "its scope region needs FIELD, which the log does not have",
    ],
    [{ key: ["region"] }, "colo", "its key region needs FIELD, which the log does not have"],
    [{ limits: [{ algorithm: "concurrency", limit: 2 }] }, "duration", /^its algorithm concurrency needs FIELD/],
    [{ count: "failures" }, "status", "its count needs FIELD, which the log does not have"],
    [
      { meter: { unit: "tokens" }, key: ["ip"], limits: [{ limit: 9_000, window: "1m" }] },
      "tokens",
      /^its meter needs FIELD/,
    ],
  ])("skips a policy with %j in a log without %s", async (fields, needed, reason) => {
    const regions = { REGIONS: { colo: { FRA: "fra" }, country: { DE: "de" } } };
    const configurations = [
      configuration(
        [
          { ...API, ...fields },
          { name: "all", key: ["global"], limits: API.limits },
        ],
        regions,
      ),
    ];
    const summary = await replay({
      log: logOf(requests(11, "192.0.2.1"), { lacking: { [needed]: "FIELD" } }),
      configurations,
    });
    const [found] = summary.configurations;
    expect(found!.skipped).toEqual([
      { policy: "api", reason: typeof reason === "string" ? reason : expect.stringMatching(reason), mode: "enforce" },
    ]);
    expect(found!.requests).toEqual({ requests: 11, refused: 1 });
    expect(found!.policies.map(({ policy }) => policy)).toEqual(["all"]);
  });

  it("is not needed for kinds after one that every request has, and for parts that no request has", async () => {
    const lacking = { "key header:x-user": "FIELD", "key bearer": "FIELD" };
    const policies = [
      { ...API, key: ["ip", "bearer"] },
      { ...API, name: "other", key: ["header:x-user", "ip"] },
    ];
    const { configurations } = await run(requests(11, "192.0.2.1"), policies, {
      log: { lacking },
      absent: ["header:x-user"],
    });
    expect(configurations[0]!.skipped).toEqual([]);
    expect(configurations[0]!.policies.map(({ refused }) => refused)).toEqual([1, 1]);
  });

  it("may be the continent: requests without a name in REGIONS are counted", async () => {
    const policy = { ...API, key: ["region"], limits: [{ ...API.limits[0], scope: "region" }] };
    const entries = ["FRA", "XXX", "XXX"].map((colo, i) => requestAt(i, { cf: { colo } }));
    const skipped = async (more: Bindings) => {
      const log = logOf(entries, { lacking: { "key continent": "FIELD" } });
      const { configurations, notes } = await replay({ log, configurations: [configuration([policy], more)] });
      return [configurations[0]!.skipped.map(({ reason }) => reason), notes];
    };
    expect(await skipped({})).toEqual([["its key region needs FIELD, which the log does not have"], []]);
    expect(await skipped({ REGION: "local" })).toEqual([[], []]);
    const note = "wrangler.toml: 2 requests had no region by REGIONS and count under local";
    expect(await skipped({ REGIONS: { colo: { FRA: "fra" } } })).toEqual([[], [note]]);
  });

  it("may be a preflight: OPTIONS requests that were counted are said", async () => {
    const entries = ["OPTIONS", "OPTIONS", "GET"].map((method, i) => requestAt(i, { method }));
    const headers = { Origin: "https://page.example", "Access-Control-Request-Method": "PUT" };
    const shown = [...entries, requestAt(9, { method: "OPTIONS", headers })];
    const notes = async (all: readonly LogEntry[], policy: object, log: LogOptions) =>
      (await run(all, [policy], { log })).notes;
    const lacking = { preflights: "FIELD" };
    const note =
      "wrangler.toml: 2 OPTIONS requests were counted; the gateway passes CORS preflights, which the log does not show";
    // Several files may have other fields: what one of them lacks is lacking.
    expect(await notes(shown, API, { lacking })).toEqual([note]);
    expect(await notes(entries, { ...API, match: { method: ["OPTIONS", "GET"] } }, { lacking })).toEqual([]);
    // The log has a field for headers, and these are not among the logged ones.
    expect(await notes(entries, API, {})).toEqual([note]);
    expect(await notes(shown, API, {})).toEqual([]);
  });

  it("leaves a summary without any policy", async () => {
    const { configurations } = await run(requests(5, "192.0.2.1"), [API], {
      log: { lacking: { "key ip": "ClientIP" } },
    });
    expect(configurations[0]).toMatchObject({
      requests: { requests: 5, refused: 0 },
      policies: [],
      skipped: [{ policy: "api", reason: "its key ip needs ClientIP, which the log does not have", mode: "enforce" }],
    });
  });
});
