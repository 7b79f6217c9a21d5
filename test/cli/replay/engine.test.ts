// What a replay decides, counts, compares and suggests, and what it cannot replay.

import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { LogClock, LogLimiter } from "../../../src/cli/replay/engine/limiter.ts";
import { replay } from "../../../src/cli/replay/engine/replay.ts";
import { clientKey, namedPlan } from "../../../src/kernel/http/key.ts";
import { compileMatcher } from "../../../src/kernel/http/match.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { recordDecisions } from "../../../src/operate/log.ts";
import { draws } from "../../support/cases/draws.ts";
import { createLimiter } from "../../support/limiter.ts";
import { readText } from "./log/read-log.ts";
import { configuration, logOf, recordedAt, requestAt, requests, run, START_MS } from "./logs.ts";

const API = { name: "api", limits: [{ limit: 10, window: "1m" }] };

const number = fc.integer({ min: 2, max: 8 });
const window = fc.constantFrom("700ms", "1s", "2500ms", "10s");
const limit = fc.oneof(
  fc.record({ limit: number, window }),
  fc.record({ algorithm: fc.constantFrom("fixed-window", "sliding-log"), limit: number, window }),
  fc.record({ algorithm: fc.constant("token-bucket"), limit: number, burst: number, window }),
);
const policy = fc.record({
  match: fc.constantFrom({}, { path: "/v1/*" }, { method: "POST" }),
  key: fc.constantFrom(["ip"], ["header:x-user", "ip"], ["query:u", "global"]),
  cost: fc.constantFrom([], [{ method: "POST", cost: 2 }], [{ path: "/v1/free", cost: 0 }]),
  mode: fc.constantFrom("enforce", "shadow"),
  limits: fc.uniqueArray(limit, { minLength: 1, maxLength: 2, selector: ({ window }) => window }),
});
const request = fc.record({
  passedMs: fc.integer({ min: 0, max: 600 }),
  method: fc.constantFrom("GET", "POST"),
  path: fc.constantFrom("/v1/things", "/v1/free", "/other?u=ann"),
  ip: fc.constantFrom("192.0.2.1", "2001:db8::1"),
  user: fc.constantFrom("", "ann", "bob"),
});

it("decides as a limiter over a memory store whose clock is that of the log, and as lines say that one has recorded", async () => {
  const limits = fc.array(policy, { minLength: 1, maxLength: 3 });
  await fc.assert(
    fc.asyncProperty(limits, fc.array(request, { minLength: 40, maxLength: 80, size: "max" }), async (drawn, all) => {
      const policies = drawn.map((one, i) => ({ ...one, name: `p${i}` }));
      let afterMs = 0;
      const entries = all.map(({ passedMs, path, user, ...more }) => {
        afterMs += passedMs;
        return requestAt(afterMs, { ...more, url: `https://a.example${path}`, headers: { "X-User": user } });
      });
      vi.useFakeTimers({ toFake: ["Date"] });
      const checked = configuration(policies).settings.policies;
      const limiter = createLimiter({ policies: policies as never, store: memoryStore() });
      const lines: string[] = [];
      // As over Redis: the isolate refuses from memory too.
      const recorded = createLimiter({
        policies: policies as never,
        store: { ...memoryStore(), kind: "redis" },
        onDecision: recordDecisions(1, (line) => void lines.push(line)),
      });
      const match = compileMatcher(checked);
      const expected = { refused: 0, byPolicy: new Map<string, number>() };
      for (const { atMs, head } of entries) {
        vi.setSystemTime(atMs);
        const takes = match(head).map(({ policy, cost }) => {
          const plan = policy.plan && namedPlan(policy.plan, head, () => "local");
          return { policy, cost, key: clientKey(policy.key, head, () => "local"), plan };
        });
        await recorded.takeMatched(takes, () => "local");
        const { allowed, limits, shadow } = await limiter.takeMatched(takes, () => "local");
        if (!allowed) expected.refused++;
        const refusing = [...limits, ...shadow].filter(({ admitted }) => !admitted);
        for (const name of new Set(refusing.map(({ policy }) => policy.name))) {
          expected.byPolicy.set(name, (expected.byPolicy.get(name) ?? 0) + 1);
        }
      }
      vi.useRealTimers();
      const [found] = (await run(entries, policies)).configurations;
      expect(found!.requests).toEqual({ requests: entries.length, refused: expected.refused });
      for (const { policy, refused } of found!.policies) expect(refused).toBe(expected.byPolicy.get(policy) ?? 0);
      // What was recorded is decided again as it was.
      const { entries: read } = await readText(lines.join("\n"), "headgate");
      const { notes } = await run(read, policies);
      expect(notes).toContain(`0.toml: 0 of ${lines.length} decisions differ from the recorded ones`);
    }),
    draws(40),
  );
});

it("replays chains of overflows: plan, team and credits beside a limit of the site", async () => {
  const of = (name: string, limit: number, more = {}) => {
    return { name, key: ["global"], limits: [{ limit, window: "1h" }], ...more };
  };
  const policies = [
    of("plan", 5, { overflow: "team" }),
    of("team", 3, { overflow: "credits" }),
    of("credits", 2),
    of("site", 9),
  ];
  const { configurations, timeline } = await run(requests(12), policies);
  const [found] = configurations;
  expect(found!.requests).toEqual({ requests: 12, refused: 3 });
  // One request a second.
  expect(timeline.refused[0]).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1]);
  expect(found!.paidBy).toEqual([
    { policies: "plan", requests: 5 },
    { policies: "team", requests: 3 },
    { policies: "credits", requests: 1 },
  ]);
  // As metrics count: under those that were needed. What the site refuses, the chain does not.
  expect(found!.policies.map(({ policy, requests, refused }) => [policy, requests, refused])).toEqual([
    ["plan", 12, 0],
    ["team", 4, 0],
    ["credits", 1, 0],
    ["site", 12, 3],
  ]);
});

describe("counts", () => {
  it("requests and clients of each policy, in shadow too", async () => {
    const entries = [...requests(12, "192.0.2.1"), ...requests(8, "192.0.2.2"), ...requests(2, "192.0.2.3")];
    const trial = { ...API, name: "trial", mode: "shadow", limits: [{ limit: 1, window: "1m" }] };
    const { configurations, timeline, log } = await run(entries, [API, trial]);
    expect(configurations[0]!.requests).toEqual({ requests: 22, refused: 2 });
    const counts = { clients: 3, refusedClients: 1 };
    expect(configurations[0]!.policies).toMatchObject([
      { policy: "api", requests: 22, refused: 2, ...counts },
      { policy: "trial", mode: "shadow", refused: 11 + 7 + 1, refusedClients: 3 },
    ]);
    const sum = (counts: readonly number[]) => counts.reduce((all, one) => all + one, 0);
    expect([sum(timeline.requests), ...timeline.refused.map(sum)]).toEqual([22, 2]);
    expect(log).toMatchObject({ requests: 22, fromMs: START_MS, toMs: START_MS + 11_000 });
  });

  it("the time in at most 240 steps, however long the log is", async () => {
    const entries = Array.from({ length: 1_000 }, (_, i) => requestAt(i * 60_000));
    const { timeline } = await run(entries, [API]);
    expect(timeline.requests.length).toBeLessThanOrEqual(240);
    expect(timeline.requests.reduce((sum, one) => sum + one, 0)).toBe(1_000);
  });

  it("by plan, cost and region, and leaves out the gateway's own paths", async () => {
    const plans = { ...API, plan: "header:x-plan", plans: { pro: { api: 12 } }, cost: [{ path: "/free", cost: 0 }] };
    const limits = [{ limit: 10, window: "1m", scope: "region" }];
    const at = (path: string, headers = {}, continent = "EU") =>
      requestAt(0, { url: `https://a.example${path}`, headers, cf: { continent } });
    const times = (n: number, ...of: Parameters<typeof at>) => Array.from({ length: n }, () => at(...of));
    const entries = [...times(13, "/", { "x-plan": "pro" }), ...times(5, "/free"), ...times(11, "/", {}, "NA")];
    const own = at("/.headgate/health");
    const { configurations, notes } = await run([...entries, own], [{ ...plans, limits }]);
    expect(configurations[0]!.requests).toEqual({ requests: 29, refused: 1 + 1 + 5 });
    expect(notes).toContainEqual(expect.stringContaining("1 requests of paths under /.headgate/"));
  });

  it("slots until requests end, and answers of one kind", async () => {
    const slots = { name: "slots", key: ["global"], limits: [{ algorithm: "concurrency", limit: 1, timeout: "2s" }] };
    const held = [0, 4_000, 9_000].map((ms) => requestAt(ms, { durationMs: ms === 0 ? 5_000 : 10 }));
    expect((await run(held, [slots])).configurations[0]!.requests.refused).toBe(1);
    const failures = { ...API, count: "failures", limits: [{ limit: 1, window: "1m" }] };
    const ended = [200, 200, 401, 200].map((status, i) => requestAt(i, { status }));
    expect((await run(ended, [failures])).configurations[0]!.requests.refused).toBe(1);
  });

  it("spellings of a name as one, if they are folded", async () => {
    const folded = { ...API, key: ["header:x-user"], fold: true, limits: [{ limit: 1, window: "1m" }] };
    const names = ["Ann", "ann", " aNN", "bob", `${"a".repeat(80)}B`, `${"a".repeat(80)}b`];
    const entries = names.map((name, i) => requestAt(i, { headers: { "X-User": name } }));
    const [found] = (await run(entries, [folded])).configurations;
    expect([found!.requests.refused, found!.policies[0]!.clients]).toEqual([3, 3]);
  });

  it("a request once by its id", async () => {
    const once = { ...API, once: "header:idempotency-key", limits: [{ limit: 1, window: "1m" }] };
    const entries = ["a", "a", "b"].map((id, i) => requestAt(i, { headers: { "Idempotency-Key": id } }));
    expect((await run(entries, [once])).configurations[0]!.requests.refused).toBe(1);
  });
});

describe("what the log lacks", () => {
  it.each([
    [{ key: ["header:x-user"] }, "header:x-user", "its key header:x-user"],
    [{ key: ["query:a+host"] }, "host", "its key host"],
    [{ key: ["bearer"] }, "ip", "its key ip"],
    [{ match: { method: "GET" } }, "method", "its match.method"],
    [{ except: { host: "a" } }, "host", "its except[0].host"],
    [{ match: { tool: "a" } }, "calls", "its match.tool"],
    [{ cost: [{ rpc: "a", cost: 2 }] }, "calls", "its cost[0].rpc"],
    [{ match: { body: { model: "a" } } }, "calls", "its match.body"],
    [{ key: ["body:email"] }, "body:email", "its key body:email"],
    [{ exempt: "10.0.0.0/8", key: ["global"] }, "ip", "its exempt"],
    [{ plan: "header:x-plan", plans: { pro: { api: 2 } } }, "header:x-plan", "its plan header:x-plan"],
    [{ limits: [{ ...API.limits[0], scope: "region" }] }, "country", "its scope region"],
    [{ key: ["region"] }, "colo", "its key region"],
    [{ limits: [{ algorithm: "concurrency", limit: 2 }] }, "duration", "its algorithm concurrency"],
    [{ count: "failures" }, "status", "its count"],
    [{ meter: { unit: "tokens" }, key: ["ip"], limits: [{ limit: 9_000, window: "1m" }] }, "tokens", "its meter"],
  ])("skips a policy with %j in a log without %s", async (fields, needed, part) => {
    const all = { name: "all", key: ["global"], limits: API.limits };
    const regions = { REGIONS: { colo: { FRA: "fra" }, country: { DE: "de" } } };
    const configurations = [configuration([{ ...API, ...fields }, all], regions)];
    const log = logOf(requests(11), { [needed]: "FIELD" });
    const [found] = (await replay({ log, configurations })).configurations;
    const reason = `${part} needs FIELD, which the log does not have`;
    expect(found!.skipped).toEqual([{ policy: "api", reason, mode: "enforce" }]);
    expect(found!.requests).toEqual({ requests: 11, refused: 1 });
  });

  it("is not needed for kinds after one that every request has", async () => {
    const configurations = [configuration([{ ...API, key: ["ip", "bearer"] }])];
    const [found] = (await replay({ log: logOf(requests(11), { bearer: "FIELD" }), configurations })).configurations;
    expect(found!.policies.map(({ refused }) => refused)).toEqual([1]);
  });

  it.each([
    [{ key: ["header:x-user", "bearer", "ip"] }, {}, "header:x-user, bearer"],
    [{ key: ["header:x-user", "bearer"] }, { "X-User": "ann" }, "bearer"],
    [{ key: ["ip", "bearer"] }, {}, undefined],
    [{ plan: "header:x-plan", plans: { pro: { api: 2 } } }, {}, "header:x-plan"],
    [{ plan: "header:x-plan", plans: { pro: { api: 2 } } }, { "X-Plan": "pro" }, undefined],
    [{ once: "header:idempotency-key" }, {}, "header:idempotency-key"],
    [{ once: "header:idempotency-key" }, { "Idempotency-Key": "a" }, undefined],
    [{ match: { path: "/other" }, key: ["bearer"] }, {}, undefined],
  ])("says what no request has a value for: %j, headers %j", async (fields, headers, lacking) => {
    const { notes } = await run([requestAt(0, { headers }), requestAt(1)], [{ ...API, ...fields }]);
    const note = `0.toml: api: no request of the log has a value for ${lacking}`;
    expect(notes).toEqual(lacking === undefined ? [] : [note]);
  });

  it("leaves a policy out of all configurations, and whole chains", async () => {
    const log = logOf(requests(3), { "header:x-user": "FIELD" });
    const other = { ...API, key: ["header:x-user"] };
    const summary = await replay({ log, configurations: [configuration([API]), configuration([other])] });
    expect(summary.configurations.map(({ skipped }) => skipped.length)).toEqual([1, 1]);
    const chain = configuration([
      { ...API, overflow: "team" },
      { ...other, name: "team" },
    ]);
    const [found] = (await replay({ log, configurations: [chain] })).configurations;
    expect(found!.skipped.map(({ policy }) => policy)).toEqual(["api", "team"]);
  });

  it("says that preflights and regions were counted that it cannot tell", async () => {
    const log = logOf([requestAt(0, { method: "OPTIONS" })], { continent: "FIELD" });
    const policy = { ...API, limits: [{ ...API.limits[0], scope: "region" }] };
    const configurations = [configuration([policy], { REGIONS: { colo: { FRA: "fra" } } })];
    const { notes } = await replay({ log, configurations });
    expect(notes.join("\n")).toMatch(/requests for which REGIONS has no name count.*1 OPTIONS requests were counted/s);
  });
});

describe("a comparison", () => {
  it("counts what is newly refused and newly admitted, for each candidate", async () => {
    const [low, high] = [5, 20].map((limit) => [{ ...API, limits: [{ limit, window: "1m" }] }]);
    const [present, ...candidates] = (await run(requests(12), [API], low!, high!)).configurations;
    const none = { requests: 0, clients: 0 };
    expect(present!.requests.changes).toBeUndefined();
    expect(candidates.map(({ requests, policies }) => [requests.changes, policies[0]!.changes])).toEqual([
      Array(2).fill({ newlyRefused: { requests: 5, clients: 1 }, newlyAdmitted: none }),
      Array(2).fill({ newlyRefused: none, newlyAdmitted: { requests: 2, clients: 1 } }),
    ]);
  });

  it("takes a policy in shadow for one that admits everything, unless both are", async () => {
    const shadow = { ...API, mode: "shadow" };
    const small = { ...shadow, limits: [{ limit: 5, window: "1m" }] };
    const { configurations } = await run(requests(12), [shadow], [API], [small]);
    const changes = configurations.slice(1).map(({ policies }) => policies[0]!.changes!);
    expect(changes.map(({ newlyRefused }) => newlyRefused.requests)).toEqual([2, 5]);
  });
});

describe("recorded lines", () => {
  it("are decided by their keys and costs, the refused of an instant last", async () => {
    const line = (ms: number, partition: string, allowed = true) =>
      recordedAt(ms, [{ policy: "api", partition, cost: 5, refused: !allowed }], allowed);
    const entries = [line(0, "a"), line(1, "a"), line(2, "b"), line(2, "a", false)];
    const { configurations, notes } = await run(entries, [API]);
    expect(configurations[0]!.policies).toMatchObject([{ requests: 4, refused: 1, clients: 2 }]);
    expect(notes).toEqual(["0.toml: 0 of 4 decisions differ from the recorded ones"]);
  });

  it("do not try what was asked before they were written, and leave out what a skipped policy refused", async () => {
    const slots = { name: "slots", limits: [{ algorithm: "concurrency", limit: 1 }] };
    const entries = [recordedAt(0, [{ policy: "api" }, { policy: "slots", refused: true }], false)];
    const configurations = [configuration([API, slots]), configuration([{ ...API, key: ["global"] }])];
    const summary = await replay({ log: logOf(entries, { duration: "FIELD" }), configurations });
    expect(summary.configurations.map(({ skipped }) => skipped[0]!.policy)).toEqual(["api", "api"]);
    expect(summary.configurations[0]!.requests.requests).toBe(0);
    expect(summary.notes.join()).toContain("1 requests are left out: a policy that is not replayed has refused them");
  });
});

it("says how many requests stand far behind later ones", async () => {
  const { log, notes } = await run([requestAt(1_000), requestAt(0)], [API]);
  expect([log.fromMs, log.toMs]).toEqual([START_MS + 1_000, START_MS + 1_000]);
  expect(notes.join()).toContain("1 requests stood far behind later ones");
});

describe("suggestions", () => {
  it("are exact at each number: what it would refuse if it were the only limit", async () => {
    const entries = [...requests(30, "192.0.2.1"), ...requests(7, "192.0.2.2")];
    const configurations = [configuration([{ ...API, limits: [...API.limits, { limit: 20, window: "1h" }] }])];
    const { suggestions } = await replay({ log: logOf(entries), configurations, suggest: 0.1 });
    expect(suggestions).toMatchObject([
      { limit: "api-1", suggested: 30 },
      { limit: "api-2", suggested: 30 },
    ]);
    for (const { limit, refused } of suggestions[0]!.rungs) {
      expect(refused).toBe(Math.max(0, 30 - limit) + Math.max(0, 7 - limit));
    }
  });
});

it("says that the store had to forget keys whose counts may have mattered", async () => {
  const { settings } = configuration([API]);
  const take = async (stepMs: number) => {
    const clock = new LogClock();
    const limiter = new LogLimiter(settings.policies, clock, 1);
    for (let i = 0; i < 10; i++) {
      await clock.runUntil(i * stepMs);
      const key = { kind: "ip", values: [String(i)] };
      await limiter.take([{ policy: settings.policies[0]!, key, cost: 1 }], () => "local", requestAt(i));
    }
    return clock.forgotten;
  };
  expect(await take(1)).toBeGreaterThan(0);
  // A minute later their counts were gone anyway.
  expect(await take(600_000)).toBe(0);
});
