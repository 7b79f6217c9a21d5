// What a replay says about a log: numbers of requests and clients, peaks, time, changes, and what it could not do.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { Clients, clientText, textOf } from "../../../../src/cli/replay/engine/clients.ts";
import { textHasher } from "../../../../src/cli/replay/engine/hash.ts";
import { InFlight } from "../../../../src/cli/replay/engine/in-flight.ts";
import { type ReplayInput, replay } from "../../../../src/cli/replay/engine/replay.ts";
import { ConfigurationRun } from "../../../../src/cli/replay/engine/run.ts";
import { TimeAxis } from "../../../../src/cli/replay/engine/timeline.ts";
import type { LogEntry } from "../../../../src/cli/replay/log/entry.ts";
import { findFailure, parseFailIf } from "../../../../src/cli/replay/report/fail-if.ts";
import type { Bindings } from "../../../../src/config/settings.ts";
import { partitionHasher, partitionText } from "../../../../src/partition/hash.ts";
import { configuration, type LogOptions, logOf, recordedAt, requestAt, SECRET, START_MS } from "./logs.ts";

const API = { name: "api", limits: [{ limit: 10, window: "1m" }] };

/** Requests of one client, 1 s apart. */
function requests(count: number, ip: string, beginMs = 0): LogEntry[] {
  return Array.from({ length: count }, (_, i) => requestAt(beginMs + i * 1_000, { ip }));
}

function run(
  entries: readonly LogEntry[],
  policies: readonly object[],
  { log, ...input }: Partial<Omit<ReplayInput, "log">> & { readonly log?: LogOptions } = {},
) {
  return replay({ log: logOf(entries, log), configurations: [configuration(policies)], ...input });
}

const hashOf = (ip: string) => partitionHasher(SECRET, "")({ kind: "ip", values: [ip] });

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

describe("what the log lacks", () => {
  it.each([
    [{ key: ["header:x-user"] }, "key header:x-user", "its key header:x-user needs FIELD, which the log does not have"],
    [{ key: ["query:a+host"] }, "host", "its key host needs FIELD, which the log does not have"],
    [{ key: ["bearer"] }, "key ip", "its key ip needs FIELD, which the log does not have"],
    [{ match: { method: "GET" } }, "method", "its match.method needs FIELD, which the log does not have"],
    [{ match: { host: "a.example" } }, "host", "its match.host needs FIELD, which the log does not have"],
    [{ cost: [{ path: "/a", cost: 2 }] }, "path", "its cost[0].path needs FIELD, which the log does not have"],
    [{ plan: "header:x-plan", plans: { pro: { api: 2 } } }, "key header:x-plan", /^its plan header:x-plan needs FIELD/],
    [
      { limits: [{ ...API.limits[0], scope: "region" }] },
      "key country",
      "its scope region needs FIELD, which the log does not have",
    ],
    [{ key: ["region"] }, "colo", "its key region needs FIELD, which the log does not have"],
    [{ limits: [{ algorithm: "concurrency", limit: 2 }] }, "duration", /^its algorithm concurrency needs FIELD/],
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

/** After collecting what nobody needs any more. */
function heapBytes(): number {
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  collect();
  return process.memoryUsage().heapUsed;
}

describe("its parts", () => {
  it.each([[SECRET], [undefined]])("hash a client as the gateway does, with the secret %j", async (secret) => {
    const hash = textHasher(secret, "a token");
    for (const values of [["192.0.2.1"], ["a", "bc"], ["\ud800"], ["é漢😀"]]) {
      const key = { kind: "header:x-user", values };
      expect(hash(partitionText(key))).toBe(await partitionHasher(secret, "a token")(key));
    }
  });

  it.each([
    ["ip", ["192.0.2.1"]],
    ["header:x-user+ip", ["ann", "192.0.2.1"]],
    ["anonymous", []],
  ])("write a client of the kind %s as the gateway does", (kind, values) => {
    expect(clientText({ kind, text: textOf(values) })).toBe(partitionText({ kind, values }));
  });

  it("keep a timeline in at most 240 steps, of all requests", () => {
    const axis = new TimeAxis();
    const line = axis.line();
    for (let i = 0; i < 1_000; i++) line.admitted[axis.stepOf(START_MS + i * i * 10)]!++;
    const { stepMs, admitted } = axis.timeline(line);
    expect(stepMs).toBe(64_000);
    expect(admitted).toHaveLength(156);
    expect(admitted.reduce((sum, count) => sum + count, 0)).toBe(1_000);
    // 80 * 80 * 10 ms are the first 64 s.
    expect(admitted[0]).toBe(80);
  });

  it("count so many clients, and decide for others by numbers that are never used twice", () => {
    const clients = new Clients(2);
    expect(["a", "b", "a", "c", "d", "c"].map((text) => clients.numberOf("ip", text))).toEqual([0, 1, 0, 2, 3, 2]);
    expect([1, 2].map((client) => clients.isCounted(client))).toEqual([true, false]);
    expect(clients.overflowed).toBe(true);
    for (let i = 0; i < 10_000; i++) clients.numberOf("ip", `more ${i}`);
    clients.sweep((client) => client === 3);
    expect([clients.numberOf("ip", "d"), clients.numberOf("ip", "c")]).toEqual([3, 10_004]);
  });

  it("tell addresses apart by all four parts, and from texts that only look like one", () => {
    const clients = new Clients(100);
    const texts = ["0.0.0.0", "255.255.255.255", "192.0.2.1", "192.0.21", "192.0.2.01", "192.0.2.256", "192.0.2.1."];
    texts.push("1.92.0.2", "19.20.2.1", "192.0.2", ".0.2.1", "192..2.1", "192.0.2.1.5", "192.0.2.x", "128.0.0.0", "");
    expect(texts.map((text) => clients.numberOf("ip", text))).toEqual([...texts.keys()]);
    expect(texts.map((text) => clients.numberOf("ip", text))).toEqual([...texts.keys()]);
    const named = clients.clientsOf(new Set(texts.keys()));
    expect(texts.map((_, i) => named.get(i)!.text)).toEqual(texts);
  });

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
    const options = {
      carried: { lacks: () => undefined },
      isRecorded: false,
      absent: [],
      axis: new TimeAxis(),
      secretOfRun: "",
    };
    const run = new ConfigurationRun({ name: "", settings }, options);
    const before = heapBytes();
    for (let i = 0; i < 200; i++) {
      const url = ["https://api.example.com/things/", `${i}`, "?", "q".repeat(queryBytes)].join("");
      run.decide(requestAt(i, { url }), i, START_MS + i, 0);
    }
    run.decide(requestAt(200), 200, START_MS + 200, 0);
    expect(heapBytes() - before).toBeLessThan(50 * queryBytes);
    expect(run.policies[0]!.requests).toBe(201);
  });

  it("let things happen in the order of time", () => {
    const inFlight = new InFlight<number>();
    const all = Array.from({ length: 200 }, (_, i) => (i * 7_919) % 83);
    for (const atMs of all) inFlight.add(atMs, atMs);
    const happened: number[] = [];
    for (let event = inFlight.next(50); event; event = inFlight.next(50)) happened.push(event.what);
    expect(happened).toEqual(all.filter((atMs) => atMs <= 50).sort((a, b) => a - b));
  });
});
