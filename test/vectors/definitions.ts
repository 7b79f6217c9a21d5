// The algorithms of the vectors. This file must stay independent of src and lua: it imports nothing from there. Each
// model is the definition of its algorithm (docs/algorithms.md) over the whole history of a key, in exact rational
// arithmetic. Every wait is *searched for*, never calculated. It does slowly what implementations do cleverly.

/** Integers below this are exact as doubles. */
export const EXACT = 2n ** 53n;

export type Numbers = Readonly<Record<string, bigint>>;

// Rational numbers p / q with q > 0. They are not reduced, because a history has only about a dozen requests.

interface Rational {
  readonly p: bigint;
  readonly q: bigint;
}

const whole = (n: bigint): Rational => ({ p: n, q: 1n });
const plus = (a: Rational, b: Rational): Rational => ({ p: a.p * b.q + b.p * a.q, q: a.q * b.q });
const lessThan = (a: Rational, b: Rational): boolean => a.p * b.q < b.p * a.q;

/** The largest integer that is at most `a`. */
function floorOf(a: Rational): bigint {
  const towardsZero = a.p / a.q;
  return lessThan(a, whole(towardsZero)) ? towardsZero - 1n : towardsZero;
}

// Searching. `holds` must be monotone: once true, it stays true.

const TRIED_ONE_BY_ONE = 64n;

/** The least integer t >= 0 for which `holds(t)` is true. */
function least(holds: (t: bigint) => boolean): bigint {
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

// The models. A charge is remembered as it is: nothing is dropped or added up.

interface Charge {
  readonly atMs: bigint;
  readonly cost: bigint;
}

export interface Model {
  /** A request with a larger cost can never pass. */
  readonly most: bigint;
  /** Whether a request of this cost, at most `most`, would be admitted at this instant. */
  admits(atMs: bigint, cost: bigint): boolean;
  charge(atMs: bigint, cost: bigint): void;
  remaining(atMs: bigint): bigint;
  /** Whether nothing that was charged counts any more. */
  isAsNew(atMs: bigint): boolean;
  /** How long an admitted request is held. Absent if the algorithm holds no request. */
  delayMs?(atMs: bigint, cost: bigint): bigint;
}

/** Asks, charges if admitted, and tells the state afterwards. */
export function take(model: Model, atMs: bigint, cost: bigint) {
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

/** A window limit is defined by the charges that still count. */
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

// Instants are positive, so `/` on bigints rounds down.
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

/** Without `maxDelayMs`: a token bucket, which admits a request at once or refuses it. */
export function bucketModel(numbers: Numbers): Model {
  const history: Charge[] = [];
  const burst = numbers.burst!;
  const maxDelayMs = numbers.maxDelayMs ?? 0n;
  const level = (atMs: bigint) => levelOf(history, numbers, atMs);
  const suffices = (atMs: bigint, cost: bigint) => !lessThan(level(atMs), whole(cost));
  // Without a later request the level never falls: if it suffices at any instant up to maxDelayMs, it does at the last.
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
    // One below the smallest cost that is not admitted.
    remaining(atMs) {
      const refused = least((cost) => cost > burst || !admits(atMs, cost));
      return refused === 0n ? 0n : refused - 1n;
    },
    // A look does not wait.
    delayMs: (atMs, cost) => (cost === 0n ? 0n : least((t) => suffices(atMs + t, cost))),
  };
}

export type Op = "acquire" | "renew" | "release";

/** Requests in flight. There are slots, but no cost and no wait. */
export function slotModel({ limit, timeoutMs }: Numbers) {
  const takenAtMs = new Map<bigint, bigint>(); // acquired or last renewed
  const holders = (nowMs: bigint) => [...takenAtMs.keys()].filter((slot) => nowMs < takenAtMs.get(slot)! + timeoutMs!);
  return {
    step(atMs: bigint, op: Op, slot: bigint) {
      const others = BigInt(holders(atMs).filter((holder) => holder !== slot).length);
      const allowed = op === "release" || others + 1n <= limit!;
      if (op === "release") takenAtMs.delete(slot);
      else if (op === "renew" || allowed) takenAtMs.set(slot, atMs);
      const inFlight = BigInt(holders(atMs).length);
      return { atMs, op, slot, allowed, remaining: inFlight < limit! ? limit! - inFlight : 0n };
    },
  };
}
