// What the algorithms are, for make.ts. Independent of src and lua, and to stay so: nothing is imported from there.
// Each model is the definition of its algorithm (docs/algorithms.md) over the whole history of a key, in exact
// rational arithmetic; every wait is *searched for*, never calculated. What an implementation makes clever, this file
// does the long way.

/** Integers below it are exact as doubles. */
export const EXACT = 2n ** 53n;

export type Numbers = Readonly<Record<string, bigint>>;

// Rational numbers: p / q, q > 0. Not reduced: a history is a dozen requests.

interface Rational {
  readonly p: bigint;
  readonly q: bigint;
}

const whole = (n: bigint): Rational => ({ p: n, q: 1n });
const plus = (a: Rational, b: Rational): Rational => ({ p: a.p * b.q + b.p * a.q, q: a.q * b.q });
const lessThan = (a: Rational, b: Rational): boolean => a.p * b.q < b.p * a.q;

/** The largest integer that is not above `a`. */
function floorOf(a: Rational): bigint {
  const towardsZero = a.p / a.q;
  return lessThan(a, whole(towardsZero)) ? towardsZero - 1n : towardsZero;
}

// Search. `holds` is monotone: once true, true for ever after.

const TRIED_ONE_BY_ONE = 64n;

/** The least integer t >= 0 for which `holds`. */
export function least(holds: (t: bigint) => boolean): bigint {
  for (let t = 0n; t <= TRIED_ONE_BY_ONE; t++) if (holds(t)) return t;
  let no = TRIED_ONE_BY_ONE;
  let yes = 2n * no;
  for (; !holds(yes); yes *= 2n) {
    if (yes > EXACT) throw new Error(`nothing below ${EXACT} holds`);
    no = yes;
  }
  while (yes - no > 1n) {
    const middle = (no + yes) / 2n;
    if (holds(middle)) yes = middle;
    else no = middle;
  }
  return yes;
}

// The models. A request is charged by being remembered; nothing is ever forgotten or summed up.

interface Charge {
  readonly atMs: bigint;
  readonly cost: bigint;
}

export interface Model {
  /** A cost above it can never pass. */
  readonly most: bigint;
  /** Would this cost, at most `most`, be admitted if asked for at this instant? */
  admits(atMs: bigint, cost: bigint): boolean;
  charge(atMs: bigint, cost: bigint): void;
  remaining(atMs: bigint): bigint;
  /** Is nothing left of what was charged? */
  isAsNew(atMs: bigint): boolean;
  /** How long an admitted request is held; absent where no request is. */
  delayMs?(atMs: bigint, cost: bigint): bigint;
  /** Not part of an answer: a cost worth trying now, because something changes just above it. */
  edge?(atMs: bigint): bigint;
}

/** A window limit is: which charges still count. */
function windowModel(limit: bigint, counts: (chargedAtMs: bigint, nowMs: bigint) => boolean): Model {
  const history: Charge[] = [];
  const used = (nowMs: bigint) =>
    history.filter(({ atMs }) => counts(atMs, nowMs)).reduce((sum, { cost }) => sum + cost, 0n);
  return {
    most: limit,
    admits: (atMs, cost) => used(atMs) + cost <= limit,
    charge: (atMs, cost) => void history.push({ atMs, cost }),
    remaining: (atMs) => (used(atMs) < limit ? limit - used(atMs) : 0n),
    isAsNew: (atMs) => used(atMs) === 0n,
  };
}

// Instants are positive, so that `/` on bigints is floor.
export const fixedWindow = ({ limit, windowMs }: Numbers): Model =>
  windowModel(limit!, (chargedAtMs, nowMs) => chargedAtMs / windowMs! === nowMs / windowMs!);

export const slidingLog = ({ limit, windowMs }: Numbers): Model =>
  windowModel(limit!, (chargedAtMs, nowMs) => nowMs - chargedAtMs < windowMs!);

/** The level of a bucket at an instant: full at first, refilled continuously up to `burst`, lowered by each charge. */
function levelOf(history: readonly Charge[], { limit, windowMs, burst }: Numbers, nowMs: bigint): Rational {
  const full = whole(burst!);
  let level = full;
  let sinceMs: bigint | undefined;
  const refill = (untilMs: bigint) => {
    if (sinceMs !== undefined) level = plus(level, { p: limit! * (untilMs - sinceMs), q: windowMs! });
    if (lessThan(full, level)) level = full;
    sinceMs = untilMs;
  };
  for (const { atMs, cost } of history) {
    refill(atMs);
    level = plus(level, whole(-cost));
  }
  refill(nowMs);
  return level;
}

/** `maxDelayMs` absent: a token bucket, whose requests are admitted at once or not at all. */
export function bucketModel(numbers: Numbers): Model {
  const history: Charge[] = [];
  const burst = numbers.burst!;
  const maxDelayMs = numbers.maxDelayMs ?? 0n;
  const level = (atMs: bigint) => levelOf(history, numbers, atMs);
  const suffices = (atMs: bigint, cost: bigint) => !lessThan(level(atMs), whole(cost));
  // With no later request the level never falls: if it suffices at any instant up to maxDelayMs, then at the last one.
  const admits = (atMs: bigint, cost: bigint) => suffices(atMs + maxDelayMs, cost);
  const charge = (atMs: bigint, cost: bigint) => void history.push({ atMs, cost });
  const isAsNew = (atMs: bigint) => suffices(atMs, burst);
  if (numbers.maxDelayMs === undefined) {
    return { most: burst, admits, charge, isAsNew, remaining: (atMs) => floorOf(level(atMs)) };
  }
  return {
    most: burst,
    admits,
    charge,
    isAsNew,
    // One below the least cost that is not admitted.
    remaining(atMs) {
      const refused = least((cost) => cost > burst || !admits(atMs, cost));
      return refused === 0n ? 0n : refused - 1n;
    },
    // Who only looks waits for nothing.
    delayMs: (atMs, cost) => (cost === 0n ? 0n : least((t) => suffices(atMs + t, cost))),
    edge: (atMs) => floorOf(level(atMs)),
  };
}

export type Op = "acquire" | "renew" | "release";

/** Requests in flight: no cost and no wait, but slots. */
export function slotModel({ limit, timeoutMs }: Numbers) {
  const takenAtMs = new Map<bigint, bigint>(); // acquired or last renewed
  const holders = (nowMs: bigint) => [...takenAtMs.keys()].filter((slot) => nowMs < takenAtMs.get(slot)! + timeoutMs!);
  return {
    holders,
    step(atMs: bigint, op: Op, slot: bigint) {
      const others = BigInt(holders(atMs).filter((holder) => holder !== slot).length);
      const allowed = op === "release" || others + 1n <= limit!;
      if (op === "release") takenAtMs.delete(slot);
      else if (op === "renew" || allowed) takenAtMs.set(slot, atMs);
      const inFlight = BigInt(holders(atMs).length);
      return { atMs, op, slot, allowed, remaining: inFlight < limit! ? limit! - inFlight : 0n };
    },
    /** For drawing: how long until each slot is lost. */
    untilLost: (nowMs: bigint) => holders(nowMs).map((slot) => takenAtMs.get(slot)! + timeoutMs! - nowMs),
    known: () => [...takenAtMs.keys()],
  };
}
