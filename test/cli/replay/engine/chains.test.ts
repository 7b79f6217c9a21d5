// Policies with an overflow: who pays for each request of a log, and what the report says of it.

import { describe, expect, it } from "vitest";
import { replay } from "../../../../src/cli/replay/engine/replay.ts";
import type { ChainSummary, PolicySummary, Summary } from "../../../../src/cli/replay/engine/summary.ts";
import type { LogEntry } from "../../../../src/cli/replay/log/format.ts";
import { findFailure, parseFailIf } from "../../../../src/cli/replay/report/fail-if.ts";
import { partitionHasher } from "../../../../src/partition/hash.ts";
import { configuration, logOf, recordedAt, requestAt, run, SECRET } from "./logs.ts";

const hour = (limit: number) => [{ algorithm: "fixed-window", limit, window: "1h" }];
const PLAN = {
  name: "plan",
  key: ["header:x-user"],
  cost: [{ method: "POST", cost: 2 }],
  limits: hour(2),
  overflow: "team",
};
const TEAM = { name: "team", key: ["header:x-team"], limits: hour(3), overflow: "company" };
const COMPANY = { name: "company", key: ["global"], limits: hour(2) };
const CHAIN = [PLAN, TEAM, COMPANY];
const { overflow: _, ...ALONE } = PLAN;

/** The hash of a team, as the report names it. */
const hashOf = (team: string) => partitionHasher(SECRET, "")({ kind: "header:x-team", values: [team] });

/** @param method a POST costs 2. */
const by = (second: number, user: string, team: string, method = "GET", more: object = {}) =>
  requestAt(second * 1_000, { method, headers: { "X-User": user, "X-Team": team }, ...more });

const LOG = [
  by(0, "ann", "red"), // plan: ann 1
  by(1, "ann", "red"), // plan: ann 2
  by(2, "ann", "red"), // team: red 1
  by(3, "ann", "red", "POST"), // team: red 3
  by(4, "bob", "red", "POST"), // plan: bob 2
  by(5, "bob", "red"), // company: 1
  by(6, "eve", "blue", "POST"), // plan: eve 2
  by(7, "eve", "blue", "POST"), // team: blue 2
  by(8, "eve", "blue", "POST"), // nobody: one unit is left of team, and one of company
  by(9, "eve", "blue"), // team: blue 3
  by(10, "ann", "red"), // company: 2
  by(11, "bob", "red"), // nobody
];

/** Who paid: requests, units and clients by the name of the payer, and of the requests for which nobody paid. */
function paidIn({ payers, refused, spared }: ChainSummary) {
  const paid = payers.map(({ policy, requests, units, clients }) => [policy, requests, units, clients]);
  const nobody = [refused, spared].map(({ policy, requests, units, clients }) => [policy, requests, units, clients]);
  return [...paid, ...nobody];
}

const figures = ({ policy, requests, refused, units, refusedUnits, clients, refusedClients }: PolicySummary) =>
  [policy, requests, refused, units, refusedUnits, clients, refusedClients] as const;

describe("a chain of three", () => {
  it("has who paid for each request, and which clients of the overflows paid most", async () => {
    const { configurations, notes } = await run(LOG, CHAIN);
    const [{ requests, chains, policies, skipped }] = configurations as [Summary["configurations"][0]];
    expect([requests, skipped, notes]).toEqual([{ requests: 12, refused: 2 }, [], []]);
    expect(chains!.map(({ policy, requests }) => [policy, requests])).toEqual([["plan", 12]]);
    expect(paidIn(chains![0]!)).toEqual([
      ["plan", 4, 6, 3],
      ["team", 4, 6, 2],
      ["company", 2, 2, 1],
      [null, 2, 3, 2],
      [null, 0, 0, 0],
    ]);
    const [red, blue] = await Promise.all(["red", "blue"].map(hashOf));
    expect(chains![0]!.payers.map(({ top }) => top.map(({ client, ...paid }) => [client, paid]))).toEqual([
      [],
      [
        [red, { kind: "header:x-team", requests: 2, units: 3 }],
        [blue, { kind: "header:x-team", requests: 2, units: 3 }],
      ],
      [[expect.any(String), { kind: "global", requests: 2, units: 2 }]],
    ]);
    // An overflow has the requests that came to it. What the whole chain refused is refused by each of it.
    expect(policies.map(figures)).toEqual([
      ["plan", 12, 2, 17, 3, 3, 2],
      ["team", 8, 2, 11, 3, 2, 2],
      ["company", 4, 2, 5, 3, 1, 1],
    ]);
    expect(policies.map(({ limits: [limit] }) => limit!.refused)).toEqual([8, 4, 2]);
    expect(policies.map(({ isOverflow }) => isOverflow)).toEqual([undefined, true, true]);
    // No overflow has clients that never needed it.
    const clients = policies.map(({ limits: [limit] }) => limit!.peaks.reduce((sum, one) => sum + one, 0));
    expect(clients).toEqual([3, 2, 1]);
  });

  it("is judged by what the whole chain refused", async () => {
    const summary = await run(LOG, CHAIN);
    const failure = (text: string) => findFailure(parseFailIf(text), summary, 0);
    expect(failure("refused of plan > 16%")).toBe("refused of plan > 16%: 2 of 12 requests (16.7 %)");
    expect(failure("refused of plan > 2")).toBeUndefined();
    expect(failure("refused of team >= 25%")).toBe("refused of team >= 25%: 2 of 8 requests (25.0 %)");
  });

  it("is compared with the same policy without an overflow", async () => {
    const configurations = [configuration([ALONE]), configuration(CHAIN, {}, "b.toml")];
    const { comparison, configurations: found } = await replay({ log: logOf(LOG), configurations });
    expect(found.map(({ requests, chains }) => [requests.refused, chains?.length])).toEqual([
      [8, undefined],
      [2, 1],
    ]);
    expect(comparison).toMatchObject({
      requests: { newlyRefused: { requests: 0 }, newlyAdmitted: { requests: 6, clients: 3 } },
      policies: [{ policy: "plan", newlyRefused: { requests: 0 }, newlyAdmitted: { requests: 6, clients: 3 } }],
      added: ["team", "company"],
      payers: [
        { policy: "plan", before: null, after: "team", requests: 4, units: 6 },
        { policy: "plan", before: null, after: "company", requests: 2, units: 2 },
      ],
    });
    const back = await replay({ log: logOf(LOG), configurations: configurations.toReversed() });
    expect(back.comparison).toMatchObject({
      policies: [{ policy: "plan", newlyRefused: { requests: 6, clients: 3 }, newlyAdmitted: { requests: 0 } }],
      payers: [
        { policy: "plan", before: "team", after: null, requests: 4, units: 6 },
        { policy: "plan", before: "company", after: null, requests: 2, units: 2 },
      ],
    });
  });

  it("is compared with other numbers by who pays, where nothing else changes", async () => {
    const configurations = [configuration(CHAIN), configuration([{ ...PLAN, limits: hour(3) }, TEAM, COMPANY])];
    const { comparison } = await replay({ log: logOf(LOG.slice(0, 4)), configurations });
    expect(comparison).toMatchObject({ requests: { newlyRefused: { requests: 0 }, newlyAdmitted: { requests: 0 } } });
    expect(comparison!.payers).toEqual([{ policy: "plan", before: "team", after: "plan", requests: 1, units: 1 }]);
    const same = await replay({ log: logOf(LOG), configurations: [configuration(CHAIN), configuration(CHAIN)] });
    expect(same.comparison!.payers).toBeUndefined();
  });
});

it("charges nobody for what another policy refuses, and a policy in shadow only beside", async () => {
  const DAY_S = 86_400;
  const policies = [
    { name: "plan", key: ["header:x-user"], limits: [{ algorithm: "calendar", limit: 2, window: "month" }] },
    { name: "credits", key: ["header:x-team"], limits: [{ algorithm: "calendar", limit: 3, window: "year" }] },
    { name: "trial", mode: "shadow", key: ["global"], limits: hour(3) },
    { name: "site", key: ["global"], limits: [{ algorithm: "fixed-window", limit: 6, window: "1h" }] },
  ];
  const log = [
    // 14 November: two of the plan, three of the credits, then nobody.
    ...[0, 1, 2, 3, 4, 5].map((second) => by(second, "ann", "red")),
    // The sixth that is charged is the last for `site`: bob's second one is spared, and stays unpaid.
    by(6, "bob", "red"),
    by(7, "bob", "red"),
    // 14 December: the plan has begun anew. The credits of a year have not.
    ...[0, 1, 2].map((second) => by(30 * DAY_S + second, "ann", "red")),
    // 1 January: both have.
    ...[0, 1, 2].map((second) => by(48 * DAY_S + second, "ann", "red")),
  ];
  const chained = policies.map((one) => (one.name === "plan" ? { ...one, overflow: "credits" } : one));
  const { configurations } = await run(log, chained);
  const [{ requests, chains, policies: found }] = configurations as [Summary["configurations"][0]];
  expect(requests).toEqual({ requests: 14, refused: 3 });
  expect(paidIn(chains![0]!)).toEqual([
    ["plan", 7, 7, 2],
    ["credits", 4, 4, 1],
    [null, 2, 2, 1],
    [null, 1, 1, 1],
  ]);
  expect(found.map(figures).map(([policy, all, refused]) => [policy, all, refused])).toEqual([
    ["plan", 14, 2],
    ["credits", 6, 2],
    // It would have refused the last five of the first hour.
    ["trial", 14, 5],
    ["site", 14, 1],
  ]);
});

it("keeps a repeat with who paid, and does not charge what does not count", async () => {
  const policies = [{ ...PLAN, once: "header:x-id", onceFor: "1h" }, TEAM, COMPANY];
  const id = (second: number, name: string, method = "GET") =>
    by(second, "ann", "red", method, { headers: { "X-User": "ann", "X-Team": "red", "X-Id": name } });
  const log = [id(0, "a"), id(1, "b", "POST"), id(2, "b", "POST"), id(3, "c"), id(4, "a")];
  const { configurations } = await run(log, policies);
  // a 1 of the plan; b 2 of the team, and again as a repeat; c 1 of the plan; a again as a repeat.
  expect(paidIn(configurations[0]!.chains![0]!).slice(0, 3)).toEqual([
    ["plan", 3, 2, 1],
    ["team", 2, 2, 1],
    ["company", 0, 0, 0],
  ]);

  const failures = [{ ...PLAN, count: "failures" }, TEAM, COMPANY];
  const statuses = [401, 200, 401, 200, 401].map((status, second) => by(second, "ann", "red", "GET", { status }));
  const counted = await run(statuses, failures);
  // The plan has paid for two failures. For the request after them the team is asked, and its success costs nothing.
  expect(paidIn(counted.configurations[0]!.chains![0]!).slice(0, 2)).toEqual([
    ["plan", 3, 2, 1],
    ["team", 2, 1, 1],
  ]);
});

it("lets operators block an overflow for a client, and exempts a client from the whole chain", async () => {
  const override = async (policy: string, kind: string, value: string, effect: object) => {
    return { policy, kind, key: await partitionHasher(SECRET, "")({ kind, values: [value] }), ...effect };
  };
  const replayed = async (...overrides: object[]) => {
    const live = { policies: {}, overrides } as NonNullable<ReturnType<typeof configuration>["live"]>;
    const configurations = [{ ...configuration(CHAIN), live }];
    const { configurations: found } = await replay({ log: logOf(LOG), configurations });
    return paidIn(found[0]!.chains![0]!).map(([policy, requests, units]) => [policy, requests, units]);
  };
  // Red is blocked: the company pays 1 for ann's third, and cannot pay 2.
  expect(await replayed(await override("team", "header:x-team", "red", { block: true }))).toEqual([
    ["plan", 4, 6],
    ["team", 2, 3],
    ["company", 2, 2],
    [null, 4, 6],
    [null, 0, 0],
  ]);
  // Nobody counts ann: what she took of the team and of the company is there for bob and eve.
  expect(await replayed(await override("plan", "header:x-user", "ann", { exempt: true }))).toEqual([
    ["plan", 2, 4],
    ["team", 4, 5],
    ["company", 1, 2],
    [null, 0, 0],
    [null, 0, 0],
  ]);
  // A blocked client is refused, whoever would pay.
  expect(await replayed(await override("plan", "header:x-user", "ann", { block: true }))).toEqual([
    ["plan", 2, 4],
    ["team", 4, 5],
    ["company", 1, 2],
    [null, 5, 6],
    [null, 0, 0],
  ]);
});

describe("a log that lacks the key of one of a chain", () => {
  const lacking = { "key header:x-team": "FIELD" };
  const reasons = ({ skipped }: Summary["configurations"][0]) => skipped.map(({ policy, reason }) => [policy, reason]);

  it("replays none of the chain", async () => {
    const { configurations } = await run(LOG, [...CHAIN, { ...COMPANY, name: "site" }], { log: { lacking } });
    expect(reasons(configurations[0]!)).toEqual([
      ["plan", "its overflow team is not replayed"],
      ["team", "its key header:x-team needs FIELD, which the log does not have"],
      ["company", "it is the overflow of team, which is not replayed"],
    ]);
    expect(configurations[0]!.policies.map(({ policy }) => policy)).toEqual(["site"]);
    expect(configurations[0]!.chains).toBeUndefined();
  });

  it("compares none of the policies that one of the configurations chains with it", async () => {
    const present = configuration([{ ...PLAN, overflow: "company" }, COMPANY]);
    const other = configuration([PLAN, { name: "team", key: TEAM.key, limits: TEAM.limits }, COMPANY]);
    const summary = await replay({ log: logOf(LOG, { lacking }), configurations: [present, other] });
    // The candidate replays `company` alone. In the present configuration it goes with `plan`.
    expect(summary.configurations.map((one) => reasons(one).map(([name]) => name))).toEqual([[], ["plan", "team"]]);
    expect(summary.comparison).toMatchObject({ policies: [], unknown: ["plan", "company", "team"] });
    expect(summary.notes).toEqual([
      "The comparison leaves out the policy plan: its overflow team is not replayed",
      "The comparison leaves out the policy company: it is the overflow of plan, which is not replayed",
    ]);
  });
});

describe("recorded lines", () => {
  const log = { isRecorded: true };
  /** A line as the gateway writes it: the policy that matched, and behind it its overflows. */
  const line = (second: number, user: string, team: string | undefined, { allowed = true, cost = 1 } = {}): LogEntry =>
    recordedAt(
      second * 1_000,
      [
        { policy: "plan", kind: "header:x-user", partition: user, cost },
        ...(team ? [{ policy: "team", kind: "header:x-team", partition: team, cost }] : []),
        { policy: "company", kind: "global", partition: "all", cost },
      ],
      { allowed },
    );
  const LINES = [
    ...[line(0, "ann", "red"), line(1, "ann", "red"), line(2, "ann", "red"), line(3, "ann", "red", { cost: 2 })],
    ...[line(4, "bob", "red", { cost: 2 }), line(5, "bob", "red"), line(6, "eve", "blue", { cost: 2 })],
    ...[line(7, "eve", "blue", { cost: 2 }), line(8, "eve", "blue", { cost: 2, allowed: false })],
    ...[line(9, "eve", "blue"), line(10, "ann", "red"), line(11, "bob", "red", { allowed: false })],
  ];

  it("are decided as the requests were", async () => {
    const [lines, requests] = [await run(LINES, CHAIN, { log }), await run(LOG, CHAIN)];
    expect(lines.notes).toEqual([
      "wrangler.toml: all of 12 decisions that were recorded with the source redis are the same in the replay",
    ]);
    const [found, expected] = [lines, requests].map(({ configurations }) => configurations[0]!.chains![0]!);
    expect(paidIn(found!)).toEqual(paidIn(expected!));
    expect(found!.payers[1]!.top).toEqual([
      { client: "red", kind: "header:x-team", requests: 2, units: 3 },
      { client: "blue", kind: "header:x-team", requests: 2, units: 3 },
    ]);
  });

  it("try a chain without one of its overflows, and in another order", async () => {
    const paid = async (...candidate: object[]) => {
      const configurations = [configuration(CHAIN), configuration(candidate, {}, "b.toml")];
      const { configurations: found, comparison } = await replay({ log: logOf(LINES, log), configurations });
      return [found[1]!.chains && paidIn(found[1]!.chains[0]!).map(([name, n]) => [name, n]), comparison!.unknown];
    };
    // The company's two units go to ann's third request and to bob's second one.
    expect(await paid({ ...PLAN, overflow: "company" }, COMPANY)).toEqual([
      [
        ["plan", 4],
        ["company", 2],
        [null, 6],
        [null, 0],
      ],
      [],
    ]);
    const { overflow: _, ...last } = TEAM;
    expect(await paid({ ...PLAN, overflow: "company" }, { ...COMPANY, overflow: "team" }, last)).toEqual([
      [
        ["plan", 4],
        ["company", 2],
        ["team", 4],
        [null, 2],
        [null, 0],
      ],
      [],
    ]);
    // Without an overflow, the lines of the other policies are those of nobody.
    expect(await paid(ALONE)).toEqual([undefined, []]);
  });

  it("cannot try an overflow that the policy did not have, or a policy that was one", async () => {
    const skipped = async (present: object[], candidate: object[]) => {
      const configurations = [configuration(present), configuration(candidate)];
      const { configurations: found } = await replay({ log: logOf(LINES, log), configurations });
      return found[1]!.skipped.map(({ policy, reason }) => [policy, reason]);
    };
    expect(await skipped([ALONE], CHAIN)).toEqual([
      ["plan", "its overflow differs, and recorded lines hold the old one"],
      ["team", "it is the overflow of plan, which is not replayed"],
      ["company", "it is the overflow of team, which is not replayed"],
    ]);
    const { overflow: _, ...team } = TEAM;
    expect(await skipped(CHAIN, [ALONE, team])).toEqual([
      ["team", "its match differs, and recorded lines hold the old one"],
      ["company", "12 recorded lines name it, and the configuration does not have it"],
    ]);
  });

  it("ask no overflow that they do not name, and the report says so", async () => {
    const lines = [
      line(0, "ann", undefined),
      line(1, "ann", undefined),
      line(2, "ann", undefined),
      line(3, "ann", "red"),
    ];
    const { configurations, notes } = await run(lines, CHAIN, { log });
    expect(paidIn(configurations[0]!.chains![0]!).map(([name, requests]) => [name, requests])).toEqual([
      ["plan", 2],
      ["team", 1],
      ["company", 1],
      [null, 0],
      [null, 0],
    ]);
    expect(notes[0]).toBe(
      "wrangler.toml: 3 recorded lines name plan without its overflow team: the replay does not ask it there",
    );
  });

  it("charge an overflow that a program has taken by itself", async () => {
    const alone = recordedAt(0, [{ policy: "team", kind: "header:x-team", partition: "red", cost: 3 }]);
    const { configurations } = await run([alone, line(1, "ann", "red", { cost: 2 }), line(2, "ann", "red")], CHAIN, {
      log,
    });
    expect(paidIn(configurations[0]!.chains![0]!).map(([name, requests]) => [name, requests])).toEqual([
      ["plan", 1],
      ["team", 0],
      ["company", 1],
      [null, 0],
      [null, 0],
    ]);
  });
});

it("suggests numbers for each limit alone, those of an overflow by the requests that came to it", async () => {
  const { suggestions, notes } = await run(LOG, CHAIN, { suggest: 0.2 });
  const now = suggestions!.map(({ policy, present, rungs }) => {
    const { requests, refused } = rungs.find(({ limit }) => limit === present)!;
    return [policy, requests, refused];
  });
  expect(now).toEqual([
    ["plan", 12, 8],
    ["team", 8, 4],
    ["company", 4, 2],
  ]);
  expect(notes).toEqual([expect.stringContaining("Suggestions try each limit without its chain")]);
});

it("counts the calls of a chain as those of one policy", async () => {
  const entries = Array.from({ length: 15 }, (_, i) => by(i / 10, "ann", "red"));
  const policies = [
    { ...PLAN, limits: hour(6) },
    { ...TEAM, limits: hour(3) },
    { ...COMPANY, limits: hour(1) },
  ];
  const { configurations, notes } = await run(entries, policies, { costs: true });
  // All is spent by the tenth request, and its reply says so.
  expect(configurations[0]!.costs).toMatchObject([
    { policy: "plan", present: "strict", requests: 15, settings: [{ consistency: "strict", calls: 10, refused: 5 }] },
  ]);
  expect(notes.at(-1)).toBe("Costs of a policy with an overflow are those of its whole chain, which one call asks");
});
