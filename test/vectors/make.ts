// Writes the stories of this directory, except sliding-window.json:
//
//   node_modules/.bin/node test/vectors/make.ts        Node 24; the same bytes on every run
//
// This file draws the requests. definitions.ts gives the answers. Nothing is imported from src or lua.

import { writeFileSync } from "node:fs";
import { mulberry32 } from "../support/mulberry32.ts";
import {
  bucketModel,
  EXACT,
  fixedWindow,
  least,
  type Model,
  type Numbers,
  type Op,
  slidingLog,
  slotModel,
} from "./definitions.ts";

const DAY_MS = 86_400_000n;
const LARGEST_LIMIT = 1_000_000_000n; // the largest that a configuration may have (docs/configuration.md)
const EPOCH_MS = 1_700_000_000_000n;
const LONGEST_GAP_MS = 400n * DAY_MS; // keeps the instants of a story near EPOCH_MS

// Steps

interface Step {
  readonly atMs: bigint;
  readonly cost: bigint;
  readonly allowed: boolean;
  readonly delayMs?: bigint;
  readonly remaining: bigint;
  readonly retryAfterMs: bigint | null;
  readonly resetAfterMs: bigint;
}

/** Asks, charges if admitted, and tells the state afterwards. */
function take(model: Model, atMs: bigint, cost: bigint): Step {
  const allowed = cost <= model.most && model.admits(atMs, cost);
  const delayMs = allowed ? model.delayMs?.(atMs, cost) : model.delayMs && 0n;
  if (allowed && cost > 0n) model.charge(atMs, cost);
  const retryAfterMs = () => (cost > model.most ? null : least((t) => model.admits(atMs + t, cost)));
  return {
    atMs,
    cost,
    allowed,
    ...(delayMs === undefined ? {} : { delayMs }),
    remaining: model.remaining(atMs),
    retryAfterMs: allowed ? 0n : retryAfterMs(),
    resetAfterMs: least((t) => model.isAsNew(atMs + t)),
  };
}

// Requests are drawn at random, with more of them near the edges. Nothing here computes an answer.

class Random {
  readonly #random: () => number;

  constructor(seed: number) {
    this.#random = mulberry32(seed);
  }

  /** 32 bits. */
  #next = () => BigInt(this.#random() * 2 ** 32);

  between(from: bigint, to: bigint): bigint {
    return from + (((this.#next() << 32n) | this.#next()) * (to - from + 1n)) / 2n ** 64n;
  }

  chance(percent: bigint): boolean {
    return this.between(1n, 100n) <= percent;
  }

  oneOf<T>(list: readonly T[]): T {
    return list[Number(this.between(0n, BigInt(list.length) - 1n))]!;
  }
}

/** The gap to the next request. Often it ends at the instant at which an answer changes, or 1 ms before. */
function drawGap(random: Random, windowMs: bigint, last: Step): bigint {
  const retry = last.retryAfterMs ?? 0n;
  if (retry > 0n && retry <= LONGEST_GAP_MS && random.chance(60n)) return retry - (random.chance(40n) ? 1n : 0n);
  const toBoundary = windowMs - (last.atMs % windowMs);
  const edges = [last.resetAfterMs, last.delayMs ?? 0n, windowMs, toBoundary].flatMap((t) => [t - 1n, t, t + 1n]);
  const gaps = [
    ...edges,
    ...[0n, 0n, 0n, 0n, 0n, 1n, 1n, 2n],
    ...Array.from({ length: 5 }, () => random.between(0n, windowMs / random.oneOf([1n, 2n, 4n, 8n, 16n]))),
    random.between(windowMs, 3n * windowMs),
  ];
  return random.oneOf(gaps.filter((gap) => gap >= 0n && gap <= LONGEST_GAP_MS));
}

function drawCost(random: Random, model: Model, atMs: bigint, refused: Step | undefined): bigint {
  if (refused && random.chance(70n)) return refused.cost; // ask again
  const { most } = model;
  const remaining = model.remaining(atMs);
  const edge = model.edge?.(atMs) ?? remaining;
  const costs = [0n, 1n, 1n, 1n, 1n, 2n, most, most + 1n, most / 2n, random.between(1n, most)];
  const edges = [remaining, remaining, edge, edge + 1n].filter((cost) => cost >= 0n);
  const refusedIfAny = remaining < most ? [remaining + 1n, remaining + 1n] : [];
  return random.oneOf([...costs, ...edges, ...refusedIfAny]);
}

interface Story {
  readonly numbers: Numbers;
  readonly steps: readonly object[];
}

function drawStory(random: Random, toModel: (numbers: Numbers) => Model, numbers: Numbers, length: bigint): Story {
  const model = toModel(numbers);
  const steps: Step[] = [];
  let atMs = EPOCH_MS + random.between(0n, 1_000_000_000n);
  if (random.chance(15n)) atMs -= atMs % numbers.windowMs!;
  for (let n = 0n; n < length; n++) {
    const last = steps.at(-1);
    if (last) atMs += drawGap(random, numbers.windowMs!, last);
    const refused = last && !last.allowed && last.retryAfterMs !== null ? last : undefined;
    steps.push(take(model, atMs, drawCost(random, model, atMs, refused)));
  }
  return { numbers, steps };
}

/** Pairs of integers from text: "1/2 3/4" is [[1, 2], [3, 4]]. */
const pairs = (text: string) => text.split(" ").map((pair) => pair.split("/").map(BigInt) as [bigint, bigint]);

/** A story written by hand: "ms/cost ms/cost", in ms after EPOCH_MS. */
function tell(toModel: (numbers: Numbers) => Model, numbers: Numbers, requests: string): Story {
  const model = toModel(numbers);
  return { numbers, steps: pairs(requests).map(([afterMs, cost]) => take(model, EPOCH_MS + afterMs, cost)) };
}

// Pairs limit/windowMs. 2678400000 ms are 31 days.
const RATES = [
  ...pairs("1/1 1000/1 2/3 3/7 5/10 10/100 13/997 1/1000 7/1000 10/1000 1000000/1000 999983/1000 100/10000 5/60000"),
  ...pairs("600/60000 1001/3600000 9500/86400000 86399/86400000 1/2678400000 3/2678400000 10000/2678400000"),
];
const LARGEST_RATES = pairs("1000000000/1000 1000000000/9007199 3362902/2678400000"); // products near 2^53

function drawWindow(random: Random, most: bigint): Numbers {
  const [limit, windowMs] = random.oneOf([...RATES, ...RATES, ...LARGEST_RATES].filter(([limit]) => limit <= most));
  return random.chance(30n) ? { limit: random.between(1n, 12n), windowMs } : { limit, windowMs };
}

function drawBucket(random: Random): Numbers {
  const [limit, windowMs] = random.oneOf([...RATES, ...RATES, ...LARGEST_RATES]);
  const most = (EXACT - 1n) / windowMs;
  const largest = most < LARGEST_LIMIT ? most : LARGEST_LIMIT;
  const bursts = [limit, limit, limit, 1n, 2n, 10n, limit + 1n, 3n * limit, (limit + 1n) / 2n, random.between(1n, 50n)];
  const burst = random.oneOf([...bursts, largest].filter((burst) => burst <= largest));
  return { limit, windowMs, burst };
}

function drawLeaky(random: Random): Numbers {
  const bucket = drawBucket(random) as { limit: bigint; windowMs: bigint; burst: bigint };
  const { limit, windowMs, burst } = bucket;
  const most = (EXACT - 1n - burst * windowMs) / limit;
  const largest = most < 31n * DAY_MS ? most : 31n * DAY_MS;
  const forOne = windowMs / limit; // about the time until a unit is back
  const delays = [0n, 1n, forOne, forOne + 1n, 2n * forOne + 1n, windowMs / 2n, windowMs, windowMs + 1n, 3n * windowMs];
  const drawn = [...delays, 10_000n, random.between(0n, windowMs), largest];
  return { ...bucket, maxDelayMs: random.oneOf(drawn.filter((delayMs) => delayMs <= largest)) };
}

/** Mostly short stories. Every fortieth story is long. */
function drawStories(
  seed: number,
  count: number,
  toModel: (numbers: Numbers) => Model,
  draw: (random: Random) => Numbers,
): Story[] {
  const random = new Random(seed);
  return Array.from({ length: count }, (_, n) =>
    drawStory(random, toModel, draw(random), n % 40 === 39 ? 40n : random.between(5n, 11n)),
  );
}

// Concurrency

function drawConcurrency(random: Random): Story {
  const limit = random.oneOf([1n, 1n, 2n, 2n, 3n, 3n, 4n, 5n, 5n, 8n, 100n, LARGEST_LIMIT]);
  const timeoutMs = random.oneOf([1n, 2n, 10n, 250n, 1000n, 30_000n, 60_000n, 60_000n, 3_600_000n]);
  const model = slotModel({ limit, timeoutMs });
  const slots = Array.from({ length: limit > 8n ? 6 : Number(limit) + 3 }, (_, n) => BigInt(n + 1));
  const length = random.between(6n, 18n) + (limit > 8n ? 0n : limit);
  const steps: object[] = [];
  let atMs = EPOCH_MS + random.between(0n, 1_000_000_000n);
  for (let n = 0n; n < length; n++) {
    const soon = [0n, 0n, 0n, 0n, 0n, 0n, 1n, timeoutMs / 2n, random.between(0n, timeoutMs / 4n)];
    const edges = [...model.untilLost(atMs), timeoutMs].flatMap((t) => [t - 1n, t, t + 1n]);
    if (n > 0n) atMs += random.oneOf(random.chance(70n) ? soon : edges);
    const held = model.holders(atMs);
    const free = slots.filter((slot) => !held.includes(slot));
    const lost = model.known().filter((slot) => !held.includes(slot));
    const asked = random.between(1n, 100n);
    const op: Op = free.length > 0 && asked <= 55n ? "acquire" : asked <= 80n ? "renew" : "release";
    const wished = {
      acquire: free,
      renew: random.chance(70n) ? held : lost,
      release: random.chance(80n) ? held : free,
    };
    steps.push(model.step(atMs, op, random.oneOf(wished[op].length > 0 ? wished[op] : slots)));
  }
  return { numbers: { limit, timeoutMs }, steps };
}

/** "acquire 1 0" means: acquire slot 1, 0 ms after EPOCH_MS. */
function tellConcurrency(numbers: Numbers, requests: readonly string[]): Story {
  const model = slotModel(numbers);
  const steps = requests.map((request) => {
    const [op, slot, afterMs] = request.split(" ") as [Op, string, string];
    return model.step(EPOCH_MS + BigInt(afterMs), op, BigInt(slot));
  });
  return { numbers, steps };
}

// Files

/** JSON with a space after `:` and `,`. bigints become integers. */
function toText(value: unknown): string {
  if (typeof value === "bigint") {
    if (value < 0n || value >= EXACT) throw new Error(`${value} is not an integer from 0 to 2^53 - 1`);
    return String(value);
  }
  if (Array.isArray(value)) return `[${value.map(toText).join(", ")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([name, field]) => `${JSON.stringify(name)}: ${toText(field)}`)
    .join(", ")}}`;
}

const FRESH = "a fresh key per story; steps in time order; state after the step is reported";

/** The numbers that an implementation in doubles must be able to hold. */
function mustFit({ limit = 0n, windowMs = 0n, burst = 0n, maxDelayMs = 0n }: Numbers): void {
  const largest = [limit * windowMs, burst * windowMs + maxDelayMs * limit];
  if (largest.some((n) => n >= EXACT)) throw new Error(`${limit} per ${windowMs} ms does not fit: ${largest}`);
}

function write(name: string, about: string, stories: readonly Story[]): void {
  for (const { numbers } of stories) mustFit(numbers);
  const lines = stories.map(({ numbers, steps }) => toText({ ...numbers, steps })).join(",\n");
  const text = `{"about": ${JSON.stringify(`${name}: ${FRESH}; ${about}`)},\n "stories": [\n${lines}\n]}\n`;
  writeFileSync(new URL(`${name}.json`, import.meta.url), text);
  const steps = stories.reduce((sum, story) => sum + story.steps.length, 0);
  console.log(`${name}.json: ${stories.length} stories, ${steps} steps, ${text.length} bytes`);
}

const NEVER = "retryAfterMs null = never";
const MINUTE_MS = 60_000n;
const perTenSeconds = { limit: 50n, windowMs: 10_000n };

write("fixed-window", `windows are aligned to the epoch; ${NEVER}`, [
  // Twice the limit across a boundary. The algorithm promises no less than that.
  tell(fixedWindow, perTenSeconds, "9000/50 9999/1 10000/50 11000/1"),
  ...drawStories(1, 40, fixedWindow, (random) => drawWindow(random, 1_000_000_000n)),
]);

const issue = tell(
  slidingLog,
  { limit: 3n, windowMs: MINUTE_MS },
  "400000/1 465000/1 480000/1 505000/1 520000/1 530000/1",
);
write("sliding-log", `an entry counts while now - at < windowMs; ${NEVER}`, [
  issue,
  tell(slidingLog, perTenSeconds, "9000/50 11000/50 18999/1 19000/50"),
  ...drawStories(2, 40, slidingLog, (random) => drawWindow(random, 10_000n)),
]);

// 7 per second: a unit is back after 142 6/7 ms. Units are back at 143, 286, 429, 572, 715, 858 and 1000 ms.
const seven = "0/7 142/1 143/1 285/1 286/1 428/1 429/1 571/1 572/1 714/1 715/1 857/1 858/1 999/1 1000/1 1999/7 2000/7";
write("token-bucket", `the level, an exact rational, starts at burst; remaining is its floor; ${NEVER}`, [
  tell(bucketModel, { limit: 7n, windowMs: 1000n, burst: 7n }, seven),
  ...drawStories(3, 40, bucketModel, drawBucket),
]);

// One per second, two at once, and up to 2 s of delay: two pass at once, two are held, and the fifth is refused for 1
// s.
const ahead = "0/1 0/1 0/1 0/1 0/1 0/0 999/1 1000/1 1000/3 2000/0 3000/0 4999/2 5000/2";
const held = "held for delayMs if that admits it; remaining: the largest cost admitted now, held or not";
write("leaky-bucket", `as token-bucket, but a request is ${held}; ${NEVER}`, [
  tell(bucketModel, { limit: 1n, windowMs: 1000n, burst: 2n, maxDelayMs: 2000n }, ahead),
  ...drawStories(4, 40, bucketModel, drawLeaky),
]);

const counted = "a slot counts while now < acquired or last renewed + timeoutMs";
const allowed = "acquire and renew: allowed if the other slots in flight + 1 <= limit; release: always allowed";
const renewed = "renew takes the slot even if not allowed";
const random = new Random(5);
write("concurrency", `${counted}; ${allowed}; ${renewed}`, [
  // Another request takes a lost slot's place. Then the lost slot comes back: two are in flight under a limit of one.
  tellConcurrency({ limit: 1n, timeoutMs: MINUTE_MS }, [
    ...["acquire 1 0", "acquire 2 0", "acquire 2 59999", "acquire 2 60000", "renew 1 60000", "acquire 3 60001"],
    ...["release 2 60002", "release 2 60002", "acquire 3 60003", "acquire 3 119999", "acquire 3 120000"],
  ]),
  ...Array.from({ length: 40 }, () => drawConcurrency(random)),
]);

// The answers that issue 4 states literally.
const told = (issue.steps as readonly Step[]).map(({ allowed }) => allowed).join();
if (told !== "true,true,true,true,false,true") throw new Error(`the story of issue 4 came out as ${told}`);
