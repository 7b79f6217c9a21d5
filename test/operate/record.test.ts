import { parse } from "smol-toml";
import { expect, it } from "vitest";
import { parsePolicies, parseSettings } from "../../src/features/configuration.ts";
import { decide } from "../../src/kernel/core/decision.ts";
import type { Policy } from "../../src/kernel/core/policy.ts";
import { partitionHasher } from "../../src/kernel/request/hash.ts";
import { KEY_DESCRIPTIONS } from "../../src/kernel/request/sources.ts";
import { memoryLive } from "../../src/kernel/store/live.ts";
import { memoryStore } from "../../src/kernel/store/memory.ts";
import type { AppliedPolicy, PolicyTake, TakeOptions } from "../../src/limiter.ts";
import { recordDecisions } from "../../src/operate/log.ts";
import { blocksOf, read, tableIn } from "../docs/markdown.ts";
import { createLimiter, limiterOf } from "../support/limiter.ts";
import { matchedBy } from "../support/matched.ts";

const SECRET = "a secret for the tests of recording";
const MINUTE = { window: "1m" } as const;
const POLICIES = [
  {
    name: "api",
    match: { path: "/v1/*" },
    key: ["bearer", "ip"],
    limits: [{ limit: 2, ...MINUTE }],
    plans: { pro: { api: 5 } },
  },
  { name: "trial", match: { path: ["/a", "/b"] }, mode: "shadow" as const, limits: [{ limit: 1, ...MINUTE }] },
  { name: "all", key: ["global"], limits: [{ limit: 1_000_000, ...MINUTE }] },
];
const { value: CHECKED } = parsePolicies(POLICIES, "POLICIES") as { readonly value: readonly Policy[] };
const KEYS: readonly PolicyTake[] = [
  { policy: "api", key: "a-token", kind: "bearer" },
  { policy: "trial", key: "192.0.2.1", kind: "ip" },
];

function recording(share = 1, policies: object[] = POLICIES) {
  const lines: string[] = [];
  const onDecision = recordDecisions(share, (line) => void lines.push(line));
  const limiter = createLimiter({ policies: policies as never, store: memoryStore(), onDecision, region: "eu" });
  return { limiter, lines, parsed: () => lines.map((line) => JSON.parse(line)) };
}

it("writes a line for each decision, without keys and paths", async () => {
  const { limiter, lines, parsed } = recording();
  const before = Date.now();
  for (let i = 0; i < 3; i++) await limiter.take(KEYS, { cost: 1 });
  const [first, second, third] = parsed();
  expect(Object.keys(first)).toEqual(["event", "v", "at", "region", "source", "allowed", "takes"]);
  expect(first).toMatchObject({ event: "decision", v: 1, region: "eu", source: "memory", allowed: true });
  expect(first.at).toBeGreaterThanOrEqual(before);
  expect(first.at).toBeLessThanOrEqual(Date.now());
  const key = expect.stringMatching(/^[\w-]{22}$/);
  expect(first.takes).toEqual([
    { policy: "api", kind: "bearer", key, cost: 1, path: "/v1/*" },
    { policy: "trial", kind: "ip", key, cost: 1 },
  ]);
  expect(second).toMatchObject({ allowed: true, takes: [{ policy: "api" }, { policy: "trial", refused: true }] });
  expect(second.takes[0]).not.toHaveProperty("refused");
  expect(third).toMatchObject({ allowed: false, takes: [{ policy: "api", refused: true }, {}] });
  expect(lines.join()).not.toMatch(/a-token|192\.0\.2/);
});

it("names the client's own plan, whatever operators have changed for it", async () => {
  const lines: string[] = [];
  const told: string[] = [];
  const hash = partitionHasher(SECRET, "");
  const override = async (client: string, effect: object) => {
    return { policy: "api", kind: "bearer", key: await hash({ kind: "bearer", values: [client] }), ...effect };
  };
  const overrides = [await override("planned", { plan: "pro" }), await override("blocked", { block: true })];
  const live = memoryLive();
  await live.write(JSON.stringify({ policies: {}, overrides }), 0);
  const limiter = limiterOf(CHECKED, {
    store: { ...memoryStore(), live },
    keySecret: SECRET,
    liveRefreshMs: 1e9,
    onDecision: [
      recordDecisions(1, (line) => void lines.push(line)),
      (_, { takes }) => void told.push(JSON.stringify(takes)),
    ],
  });
  const take = (key: string, plan?: string) =>
    limiter.take("api", { key, kind: "bearer", ...(plan !== undefined && { plan }) });
  expect((await take("planned")).limits[0]!.limit.limit).toBe(5);
  await take("planned", "pro");
  expect((await take("blocked", "pro")).blocked).toBe(true);
  await take("blocked", "a-secret");
  expect(lines.map((line) => JSON.parse(line).takes[0].plan)).toEqual([undefined, "pro", "pro", undefined]);
  expect(told.join()).not.toContain("a-secret");
});

it("passes over looks, and writes takes of cost 0", async () => {
  const { limiter, parsed } = recording();
  const client: TakeOptions = { key: "192.0.2.1" };
  await limiter.peek("trial", client);
  await limiter.take("trial", { ...client, cost: 0 });
  expect(parsed()).toMatchObject([{ takes: [{ cost: 0 }] }]);
});

it("takes the same share of the clients everywhere, each with all its requests", async () => {
  const [one, other] = [recording(0.1), recording(0.1)];
  const clients = Array.from({ length: 400 }, (_, i) => `2001:db8:0:${i.toString(16)}::1`);
  for (const { limiter } of [one, other]) {
    for (const key of clients) {
      await limiter.take([
        { policy: "all", key: "" },
        { policy: "trial", key },
      ]);
      await limiter.take("trial", { key });
    }
  }
  expect(one.parsed().map(({ takes }) => takes)).toEqual(other.parsed().map(({ takes }) => takes));
  const requests = new Map<string, number>();
  for (const { share, takes } of one.parsed()) {
    expect(share).toBe(0.1);
    const { key } = takes.at(-1);
    requests.set(key, (requests.get(key) ?? 0) + 1);
  }
  expect([...new Set(requests.values())]).toEqual([2]);
  // The hash makes the share: 3.5 standard deviations.
  expect(Math.abs(requests.size - 40)).toBeLessThan(22);
});

it("marks every policy of a chain that has refused, as each of its limits has", async () => {
  const team = { name: "team", key: "global", limits: [{ limit: 1, ...MINUTE }] };
  const { limiter, parsed } = recording(1, [{ ...team, name: "plan", overflow: "team" }, team]);
  for (let i = 0; i < 3; i++) await matchedBy(limiter).take([{ policy: "plan" }]);
  const refused = parsed().map(({ takes }) => takes.map((take: { refused?: true }) => take.refused));
  expect(refused).toEqual([
    [undefined, undefined],
    [undefined, undefined],
    [true, true],
  ]);
});

it("writes all requests that count all clients together, whatever the share", async () => {
  const { limiter, lines } = recording(0.0001);
  for (let i = 0; i < 5; i++) await limiter.take("all");
  expect(lines).toHaveLength(5);
});

const OPERATORS = Object.entries(KEY_DESCRIPTIONS).flatMap(([source, { chosenBy }]) =>
  chosenBy === "operator" ? [source] : [],
);

it.each([...OPERATORS, "country", "asn", "anonymous", "host+region"])(
  "lets another key than a shared one decide: %s",
  (kind) => {
    const lines: string[] = [];
    const record = recordDecisions(0.5, (line) => void lines.push(line));
    const policy = CHECKED[0]!;
    // A hash that begins with A is in the sample, one that begins with _ is not.
    const take = (of: string, partition: string): AppliedPolicy => ({ policy, kind: of, partition, cost: 1 });
    const recordOf = (...takes: AppliedPolicy[]) => {
      const decision = decide(
        "memory",
        takes.map(() => ({ policy, became: "charged", limits: [] })),
      );
      record(decision, { takes, region: "eu", atMs: 1 });
    };
    recordOf(take(kind, "____"));
    recordOf(take(kind, "____"), take(`${kind}+ip`, "AAAA"));
    recordOf(take(kind, "AAAA"), take(`${kind}+ip`, "____"));
    expect(lines).toHaveLength(2);
  },
);

it("docs/replay.md shows a line as it is written, and a setting that is read", async () => {
  const [shown] = blocksOf("docs/replay.md", "json");
  const { limiter, parsed } = recording();
  await limiter.take("api", { key: "a", kind: "bearer", plan: "pro" });
  const [{ takes, ...line }] = parsed();
  const { takes: shownTakes, ...shownLine } = JSON.parse(shown!.text);
  expect(Object.keys(shownLine)).toEqual(Object.keys(line));
  expect(Object.keys(shownTakes[0])).toEqual(Object.keys(takes[0]));
  const members = tableIn(read("docs/replay.md"), "Member").flatMap(({ Member }) => Member!.match(/\w+/g)!);
  const written = [...Object.keys(line), "takes", ...Object.keys(takes[0]), "share", "refused", "once"];
  expect(["event", ...members].sort()).toEqual(written.sort());

  const [toml] = blocksOf("docs/replay.md", "toml");
  const { vars } = parse(toml!.text) as { vars: Record<string, string> };
  expect(parseSettings({ ...vars, POLICIES })).toMatchObject({ value: { record: 1 } });
});

it("writes the hash of a request's id, and not the id", async () => {
  const policies = [{ name: "api", limits: [{ limit: 2, ...MINUTE }], once: "header:idempotency-key" }];
  const { limiter, lines, parsed } = recording(1, policies);
  for (const once of ["an-id", "an-id", undefined]) await limiter.take("api", { key: "ann", ...(once && { once }) });
  const [first, repeat, none] = parsed().map(({ takes }) => takes[0]);
  expect(first.once).toMatch(/^[\w-]{22}$/);
  expect(repeat).toEqual(first);
  expect(none).not.toHaveProperty("once");
  expect(lines.join()).not.toContain("an-id");
});
