// What a gateway records, replayed with the same configuration: the replay decides each line as Redis did.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent } from "undici";
import { expect, it, onTestFinished } from "vitest";
import { replay, type Summary } from "../../src/cli/replay/engine/replay.ts";
import { openLog } from "../../src/cli/replay/log/open.ts";
import { parseSettings } from "../../src/features/configuration.ts";
import { type Gateway, startGateway, uniqueName } from "../support/gateway/gateway.ts";

const REQUESTS = 20_000;
/** Clients that send at the same time. */
const CLIENTS = 8;
/**
 * Then other clients follow. The first requests of a client are decided by Redis, also a refusal under each limit, and
 * most of the others from memory: however fast the machine is, there are many of both.
 */
const REQUESTS_OF_CLIENTS = 1_000;
/** Open requests, each over a connection of its own. */
const OPEN = 24;
const NAMES = ["site", "login", "login-trial", "search", "report", "slow", "all", "look", "busy"] as const;

/**
 * Every algorithm that counts units; several windows, plans, costs, shadows, and several policies on one path. Limits
 * are so low that most refusals need no call.
 */
function mixedPolicies() {
  const [site, login, trial, search, report, slow, all, look, busy] = NAMES.map(uniqueName);
  return [
    {
      name: site,
      match: { path: ["/", "/report"] },
      limits: [
        { limit: 4, window: "2s" },
        { limit: 9, window: "6s", buckets: 6, oldest: "whole", scope: "region" },
      ],
      plan: "header:x-plan",
      plans: { pro: { [`${site}-1`]: 7, [`${site}-2`]: 15 } },
    },
    {
      name: login,
      match: { path: "/login" },
      limits: [
        { algorithm: "sliding-log", limit: 3, window: "1700ms" },
        { algorithm: "fixed-window", limit: 7, window: "5s" },
      ],
    },
    {
      name: trial,
      match: { path: "/login" },
      mode: "shadow",
      limits: [{ algorithm: "sliding-log", limit: 2, window: "2s" }],
    },
    {
      name: search,
      match: { path: "/search/*" },
      key: ["header:x-user", "ip"],
      cost: [{ path: "/search/all", cost: 5 }],
      limits: [{ algorithm: "token-bucket", limit: 4, window: "2s", burst: 6 }],
    },
    {
      name: report,
      match: { path: ["/search/all", "/report"] },
      limits: [{ algorithm: "fixed-window", limit: 3, window: "2900ms" }],
    },
    {
      name: slow,
      match: { path: "/slow" },
      limits: [{ algorithm: "leaky-bucket", limit: 2, window: "1s", burst: 2, maxDelay: "30ms" }],
    },
    { name: all, match: { path: "/report" }, key: ["global"], limits: [{ limit: 20, window: "3s", buckets: 4 }] },
    { name: look, match: { path: "/slow" }, cost: [{ cost: 0 }], limits: [{ limit: 9, window: "1h" }] },
    { name: busy, match: { path: "/report" }, key: ["global"], limits: [{ algorithm: "concurrency", limit: 1 }] },
  ];
}

const PATHS = ["/", "/login", "/search/one", "/search/one?a", "/report", "/slow", "/", "/login?again", "/search/all"];

interface Line {
  readonly event?: string;
  readonly source: string;
  readonly allowed: boolean;
  readonly takes: readonly { readonly policy: string; readonly refused?: true }[];
}

/** The recorded lines of these gateways, as their consoles show them. */
const linesOf = (gateways: readonly Gateway[]) =>
  gateways.flatMap(({ logs }) => logs.filter((line) => line.startsWith('{"event":"decision"')));

const parse = (lines: readonly string[]) => lines.map((line) => JSON.parse(line) as Line);

/** Sends requests of all clients to all gateways. @returns how many were answered with each status. */
async function send(gateways: readonly Gateway[], requests: number): Promise<ReadonlyMap<number, number>> {
  const agent = new Agent({ connections: OPEN });
  onTestFinished(() => agent.destroy());
  const statuses = new Map<number, number>();
  let sent = 0;
  const connection = async () => {
    while (sent < requests) {
      const i = sent++;
      const first = CLIENTS * Math.floor(i / REQUESTS_OF_CLIENTS);
      const client = first + ((i * 7 + Math.floor(i / 97)) % CLIENTS);
      const headers = {
        "CF-Connecting-IP": `192.0.2.${client}`,
        ...(client % 3 === 0 && { "X-Plan": "pro" }),
        ...(client % 4 === 0 && { "X-User": `user-${client}` }),
      };
      const { origin } = gateways[i % gateways.length]!.url;
      const path = PATHS[Math.floor(i / 3) % PATHS.length]!;
      const { statusCode, body } = await agent.request({ origin, path, method: "GET", headers });
      await body.dump();
      statuses.set(statusCode, (statuses.get(statusCode) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: OPEN }, connection));
  return statuses;
}

async function replayed(lines: readonly string[], bindings: Readonly<Record<string, unknown>>): Promise<Summary> {
  const cwd = mkdtempSync(join(tmpdir(), "headgate-recorded-"));
  onTestFinished(() => rmSync(cwd, { recursive: true }));
  writeFileSync(join(cwd, "tail.log"), `${lines.join("\n")}\n`);
  const settings = parseSettings(bindings);
  if (settings.mistakes) throw new Error(JSON.stringify(settings.mistakes));
  const log = await openLog(["tail.log"], undefined, { cwd, stdin: (async function* () {})() });
  return await replay({ log, configurations: [{ name: "present", settings: settings.value }] });
}

const sourcesOf = (recorded: readonly Line[]) => [...new Set(recorded.map(({ source }) => source))].sort();

it("20,000 decisions of mixed policies: the replay decides all of them as Redis did", async () => {
  const policies = mixedPolicies();
  const [, login, trial] = policies.map(({ name }) => name);
  const gateway = await startGateway({ policies, vars: { RECORD: "on", REGION: "eu" } });
  const statuses = await send([gateway], REQUESTS);
  await expect.poll(() => linesOf([gateway]).length, { timeout: 20_000 }).toBe(REQUESTS);
  const lines = linesOf([gateway]);
  const recorded = parse(lines);
  expect(recorded.filter(({ allowed }) => allowed)).toHaveLength(statuses.get(200)!);
  expect([...statuses.keys()].sort()).toEqual([200, 429]);
  expect(sourcesOf(recorded)).toEqual(["cache", "redis"]);

  const summary = await replayed(lines, { POLICIES: policies });
  const busy = policies.at(-1)!.name;
  // What it has refused is left out.
  const isElsewhere = ({ takes }: Line) => takes.some(({ policy, refused }) => refused && policy === busy);
  const elsewhere = recorded.filter(isElsewhere).length;
  expect(summary.log.requests).toBe(REQUESTS - elsewhere);
  const reason = "its algorithm concurrency needs the duration of the request, which the log does not have";
  expect(summary.configurations[0]!.skipped).toEqual([{ policy: busy, mode: "enforce", reason }]);
  const differing = `present: 0 of ${REQUESTS - elsewhere} decisions differ from the recorded ones`;
  expect(summary.notes).toContain(differing);
  // Each policy of a path that is refused often, one of them in shadow: what Redis refused. (A refusal from memory
  // changes no count, and may not know the newest counts of a policy that does not decide.)
  const ofRedis = lines.filter((line) => line.includes('"source":"redis"'));
  const { policies: told } = (await replayed(ofRedis, { POLICIES: policies })).configurations[0]!;
  for (const name of [login, trial]) {
    const takes = parse(ofRedis).flatMap(({ takes }) => takes.filter(({ policy }) => policy === name));
    const refused = takes.filter((take) => take.refused).length;
    expect(refused).toBeGreaterThan(50);
    expect(told.find(({ policy }) => policy === name)).toMatchObject({ requests: takes.length, refused });
  }
}, 240_000);
