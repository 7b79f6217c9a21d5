/**
 * `npm run demo:boundary`: a limit of 50 per 10 s, a burst of 50 requests 1 s before a window boundary, and another
 * burst 1 s after it. The same two bursts run under every algorithm, through the gateway (the bundled Worker in
 * workerd), on a real Redis and its clock. Ends with exit code 1 if an algorithm admits another number than its
 * definition says.
 */

import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import { createBridge } from "../bridge/bridge.ts";
import { startLocalGateway } from "../dev/local-gateway.ts";
import { startRedisServer } from "../machine/redis-server.ts";
import * as definitions from "./boundary-definitions.ts";
import { startDecisionTap, type TappedDecision } from "./decision-tap.ts";

const { LIMIT, WINDOW_MS } = definitions;
/** The time between the boundary and the beginning of a burst, in ms. */
const DISTANCE_MS = 1_000;
/** This long before a burst, connections are opened again: clients close them after 4 s without use. */
const WARM_UP_MS = 700;

interface Row {
  /** The policy's name. */
  readonly name: string;
  readonly title: string;
  /** The fields of the limit other than limit and window. */
  readonly fields: Readonly<Record<string, unknown>>;
  readonly definition: definitions.Definition;
  /**
   * What the definition gives here, as a formula and a number. @param e ms of the new window before the last decision.
   * @param d ms from the first decision to the last.
   */
  readonly formula: (e: number, d: number) => readonly [text: string, total: number];
}

const sliding = (buckets: number, oldest: "weighted" | "whole") => ({ algorithm: "sliding-window", buckets, oldest });
const nothingMore = () => ["the limit", LIMIT] as const;
const plusPart = (ms: number) =>
  [`${LIMIT} + floor(${LIMIT} * ${ms} / ${WINDOW_MS})`, LIMIT + Math.floor((LIMIT * ms) / WINDOW_MS)] as const;

const ROWS: readonly Row[] = [
  {
    name: "fixed-window",
    title: "fixed-window",
    fields: { algorithm: "fixed-window" },
    definition: definitions.fixedWindow,
    formula: () => ["2 * limit", 2 * LIMIT],
  },
  {
    name: "weighted-1",
    title: "sliding-window, 1 bucket",
    fields: sliding(1, "weighted"),
    definition: definitions.weighted(1),
    formula: (e) => plusPart(e),
  },
  {
    name: "weighted-10",
    title: "sliding-window, 10 buckets",
    fields: sliding(10, "weighted"),
    definition: definitions.weighted(10),
    formula: nothingMore,
  },
  {
    name: "whole",
    title: 'sliding-window, oldest = "whole"',
    fields: sliding(1, "whole"),
    definition: definitions.whole(1),
    formula: nothingMore,
  },
  {
    name: "sliding-log",
    title: "sliding-log",
    fields: { algorithm: "sliding-log" },
    definition: definitions.slidingLog,
    formula: nothingMore,
  },
  {
    name: "token-bucket",
    title: "token-bucket",
    fields: { algorithm: "token-bucket" },
    definition: definitions.tokenBucket,
    formula: (_e, d) => plusPart(d),
  },
];

/** The policy whose number depends on the instant comes first in each burst. */
const ORDER = ["weighted-1", ...ROWS.map(({ name }) => name).filter((name) => name !== "weighted-1")];
const WARM_UP = "warm-up";

const policies = [
  ...ROWS.map(({ name, fields }) => ({ name, limits: [{ limit: LIMIT, window: `${WINDOW_MS}ms`, ...fields }] })),
  { name: WARM_UP, limits: [{ limit: 10_000, window: `${WINDOW_MS}ms` }] },
].map((policy) => ({ ...policy, match: { path: `/${policy.name}` }, key: ["global"] }));

/** What was started. It is stopped in the opposite order. */
const started: (() => Promise<unknown>)[] = [];

async function run(): Promise<boolean> {
  const server = await startRedisServer();
  started.push(server.stop);
  const bridge = await createBridge({ redisUrl: server.url, token: randomBytes(16).toString("hex") });
  started.push(bridge.close);
  const tap = await startDecisionTap(bridge.url);
  started.push(tap.close);
  const gateway = await startLocalGateway({
    POLICIES: policies,
    UPSTASH_REDIS_REST_URL: tap.url,
    UPSTASH_REDIS_REST_TOKEN: bridge.token,
    // The timeout is long, so that a busy machine causes no fallback decisions.
    REDIS_TIMEOUT_MS: 10_000,
  });
  started.push(gateway.stop);

  // Warms up the JIT compilers, so that the bursts are as short as possible.
  const warmUp = () =>
    sendBurst(
      gateway.url,
      ORDER.map(() => WARM_UP),
    );
  await warmUp();

  const clock = await redisClock(server.url);
  const boundaryAtMs = WINDOW_MS * Math.ceil((clock() + DISTANCE_MS + WARM_UP_MS) / WINDOW_MS);
  console.log(
    `${LIMIT} per ${WINDOW_MS / 1000} s on ${server.version}, whose clock reaches a multiple of 10 s at ${hours(boundaryAtMs)}.`,
  );
  const first = "the first burst, 1 s before it";
  await waitUntil(boundaryAtMs - DISTANCE_MS - WARM_UP_MS, clock, first);
  await warmUp();
  await waitUntil(boundaryAtMs - DISTANCE_MS, clock, first);
  const before = await sendBurst(gateway.url, ORDER);
  if (tap.decisions.some(({ nowMs }) => nowMs >= boundaryAtMs)) {
    throw new Error("the first burst was not over before the boundary: this machine is too busy, run it again");
  }
  await waitUntil(boundaryAtMs + DISTANCE_MS, clock, "the second burst, 1 s after it");
  const after = await sendBurst(gateway.url, ORDER);

  const results = ROWS.map((row) =>
    evaluate(row, before.get(row.name)!, after.get(row.name)!, tap.decisions, boundaryAtMs),
  );
  report(results, tap.decisions, boundaryAtMs);
  return results.every(({ isRight }) => isRight);
}

/** Sends `LIMIT` requests for each of these policies at once. @returns the admitted requests of each policy. */
async function sendBurst(url: URL, names: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const admitted = new Map(names.map((name) => [name, 0]));
  const requests = names.flatMap((name) => Array<string>(LIMIT).fill(name));
  await Promise.all(
    requests.map(async (name) => {
      const response = await fetch(new URL(`/${name}`, url));
      await response.arrayBuffer();
      if (response.status === 200) admitted.set(name, admitted.get(name)! + 1);
    }),
  );
  return admitted;
}

/** Redis's clock in ms since the epoch. It asks Redis only once. */
async function redisClock(url: string): Promise<() => number> {
  const redis = new Redis(url, { disableClientInfo: true });
  const [seconds, microseconds] = await redis.time();
  const aheadMs = Number(seconds) * 1000 + Number(microseconds) / 1000 - Date.now();
  redis.disconnect();
  return () => Date.now() + aheadMs;
}

async function waitUntil(atMs: number, clock: () => number, what: string): Promise<void> {
  const left = () => `waiting ${((atMs - clock()) / 1000).toFixed(1)} s for ${what}`;
  // Print the line once if it cannot be overwritten.
  if (!process.stdout.isTTY && atMs - clock() > 1_000) console.log(left());
  while (clock() < atMs) {
    if (process.stdout.isTTY) process.stdout.write(`\r\x1b[K${left()}`);
    await sleep(Math.min(100, Math.max(1, atMs - clock())));
  }
  if (process.stdout.isTTY) process.stdout.write("\r\x1b[K");
}

/** Compares what one policy admitted with its definition, replayed over the instants of its decisions. */
function evaluate(
  { name, title, definition, formula }: Row,
  before: number,
  after: number,
  decisions: readonly TappedDecision[],
  boundaryAtMs: number,
) {
  const atMs = instantsOf(decisions, name);
  const expected = definitions.replay(definition, atMs);
  const expectedBefore = expected.filter((ms) => ms < boundaryAtMs).length;
  const lastMs = atMs.at(-1)!;
  const [text, total] = formula(lastMs - boundaryAtMs, lastMs - atMs[0]!);
  // The gateway's own refusals have no instant here. They change nothing, because they admit nothing.
  const isRight = before === expectedBefore && before + after === expected.length && expected.length === total;
  return { title, before, after, expected: expected.length, total, text, isRight };
}

function instantsOf(decisions: readonly TappedDecision[], name: string): number[] {
  return decisions
    .filter(({ policy }) => policy === name)
    .map(({ nowMs }) => nowMs)
    .sort((a, b) => a - b);
}

function report(
  results: readonly ReturnType<typeof evaluate>[],
  decisions: readonly TappedDecision[],
  boundaryAtMs: number,
): void {
  console.log("\nadmitted in the burst          before  after   both  expected");
  for (const { title, before, after, expected, total, text, isRight } of results) {
    const wrong = isRight ? "" : `   WRONG: the definition says ${expected}, the formula ${total}`;
    const numbers = [before, after, before + after].map((count) => String(count).padStart(7)).join("");
    console.log(`${title.padEnd(32)}${numbers}  ${total} = ${text}${wrong}`);
  }
  const all = ROWS.flatMap(({ name }) => instantsOf(decisions, name));
  const span = (atMs: readonly number[]) =>
    `${seconds(Math.min(...atMs) - boundaryAtMs)} to ${seconds(Math.max(...atMs) - boundaryAtMs)} s`;
  const e = instantsOf(decisions, "weighted-1").at(-1)! - boundaryAtMs;
  const unasked = 2 * LIMIT * ROWS.length - all.length;
  const lines = [
    `A burst is ${ORDER.length * LIMIT} requests. Each decision has an instant of its own by Redis's clock, which the script replies: here`,
    `${span(all.filter((ms) => ms < boundaryAtMs))} and ${span(all.filter((ms) => ms >= boundaryAtMs))} from the boundary. The definitions were replayed over them.`,
    `sliding-window, 1 bucket: ${e} ms of the new window had passed at its last decision.`,
    `token-bucket: refilled by ${LIMIT} per ${WINDOW_MS} ms from its first decision to its last.`,
  ];
  if (unasked > 0) lines.push(`${unasked} refusals came from the gateway's memory, without a call to Redis.`);
  console.log(`\n${lines.join("\n")}`);
}

function seconds(ms: number): string {
  return `${ms < 0 ? "−" : "+"}${(Math.abs(ms) / 1000).toFixed(3)}`;
}

function hours(atMs: number): string {
  return new Date(atMs).toISOString().slice(11, 19);
}

try {
  process.exitCode = (await run()) ? 0 : 1;
} catch (error) {
  console.error(`demo:boundary: ${(error as Error).message}`);
  process.exitCode = 1;
} finally {
  for (const stop of started.reverse()) await stop();
}
