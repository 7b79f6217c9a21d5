// Traffic that moves: the counts of any minute, made from its number, so that two questions get the same answer. With a
// login attack that goes on, and a store that was away for three minutes.

import type { StatsAnswer, StatsPoint } from "../../console/src/api.ts";

const MINUTE_MS = 60_000;
const REGIONS = Object.entries({ eu: 1, na: 0.8, ap: 0.45, sa: 0.15 });
/** Requests a minute of the largest region, and what becomes of them: parts of all, by outcome and source. */
const LOAD = {
  api: [2_400, "admitted lease 0.91", "admitted redis 0.07", "refused cache 0.018", "refused redis 0.002"],
  "api-address": [2_400, "admitted lease 0.93", "admitted redis 0.068", "refused cache 0.002"],
  "burst-trial": [700, "admitted redis 0.9", "shadow_refused cache 0.1"],
  login: [26, "admitted redis 0.96", "refused cache 0.036", "refused redis 0.004"],
  exports: [5, "admitted redis 1"],
  plan: [120, "admitted redis 0.71", "overflowed redis 0.29"],
  team: [120, "admitted redis 0.25", "overflowed redis 0.04"],
  credits: [120, "admitted redis 0.04"],
} as const;
/** Those with a meter. */
const PAID = ["plan", "team", "credits"];
/** 10 micro-dollars each. */
const UNITS_OF_REQUEST = 1_370;
const BOUNDS = ["0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1", "+Inf"] as const;
const SHARES = [0.02, 0.55, 0.3, 0.1, 0.02, 0.008, 0.002, 0, 0];
const FLUSH_S = 5;

export interface TrafficOptions {
  readonly startedAtMs: number;
  /** Hashes of the clients that are refused most, by policy. */
  readonly limited: Readonly<Record<string, readonly string[]>>;
}

/** 0 … 1, the same for the same words. */
function draw(...words: readonly (string | number)[]): number {
  let hash = 2_166_136_261;
  for (const char of words.join()) hash = Math.imul(hash ^ char.charCodeAt(0), 16_777_619);
  hash = Math.imul(hash ^ (hash >>> 15), 2_246_822_507);
  return ((hash ^ (hash >>> 13)) >>> 0) / 2 ** 32;
}

/** What happened in whole minutes: every question asks for most of them again. */
const whole = new Map<string, Omit<StatsPoint, "at">[]>();

/** What happened in a minute. @param part how much of it is over, 0 … 1. */
function pointsOf(minute: number, startMinute: number, part: number): Omit<StatsPoint, "at">[] {
  if (part < 1) return drawPoints(minute, startMinute, part);
  const name = `${minute} ${startMinute}`;
  const points = whole.get(name) ?? drawPoints(minute, startMinute, part);
  whole.set(name, points);
  return points;
}

function drawPoints(minute: number, startMinute: number, part: number): Omit<StatsPoint, "at">[] {
  const age = startMinute - minute;
  const isAway = age >= 33 && age <= 35;
  return Object.entries(LOAD)
    .flatMap(([policy, [load, ...kinds]]) =>
      REGIONS.flatMap(([region, share]) => {
        const wave = 1 + 0.25 * Math.sin(minute / 17 + share * 4) + 0.2 * (draw(minute, policy, region) - 0.5);
        const all = load * share * wave * part;
        const isAttacked = policy === "login" && age <= 21 && age !== 12;
        const attack = isAttacked ? 20 + 20 * draw(minute, region) : 1;
        const points = kinds.map((kind) => {
          const [outcome, source, of] = kind.split(" ") as [StatsPoint["outcome"], string, string];
          const count = Math.round(all * Number(of) * (outcome === "refused" ? attack : 1));
          const isDown = isAway && source !== "cache";
          return { policy, region, outcome, source: isDown ? "fallback" : source, count };
        });
        const blocked = policy === "api" && region === "eu" ? Math.round(6 * part) : 0;
        return [...points, { policy, region, outcome: "blocked" as const, source: "live", count: blocked }];
      }),
    )
    .filter(({ count }) => count > 0);
}

/** What the models have used: of each request so many tokens, and so much of its units. */
const MODELS: readonly (readonly [model: string, share: number, input: number, output: number])[] = [
  ["gpt-5-2026-08", 0.71, 1_450, 310],
  ["gpt-5-mini", 0.22, 980, 205],
  ["claude-opus-5", 0.05, 2_210, 640],
  ["unnamed", 0.01, 0, 0],
  ["other", 0.01, 700, 90],
];

function answersIn(points: readonly StatsPoint[]): Pick<StatsAnswer, "settled" | "tokens"> {
  const paid = points.filter(({ policy, outcome }) => PAID.includes(policy) && outcome === "admitted");
  return {
    settled: paid.flatMap(({ at, policy, count }) =>
      MODELS.map(([model, share]) => ({
        ...{ at, policy, paidFor: "plan", model },
        count: Math.round(count * share * UNITS_OF_REQUEST * 0.83),
      })),
    ),
    tokens: paid.flatMap(({ at, policy, count }) =>
      MODELS.flatMap(([model, share, input, output]) =>
        Object.entries({ input, output }).flatMap(([type, tokens]) =>
          tokens > 0 ? [{ at, policy, model, type, count: Math.round(count * share * tokens) }] : [],
        ),
      ),
    ),
  };
}

/** Where the client at this place of the list was refused. */
function whereOf(policy: string, i: number, refused: number) {
  const places =
    policy === "login"
      ? [["/login", "NL"]]
      : [
          ["/v1/*", "DE"],
          ["/v1/search", "DE"],
          ["*", "?"],
        ];
  return places.slice(0, 3 - (i % 3)).map(([route = "", country = ""], at) => {
    return { route, country, refused: Math.ceil((refused * 0.7) / 4 ** at) };
  });
}

export function statsOf(minutes: number, { startedAtMs, limited }: TrafficOptions): StatsAnswer {
  const nowMs = Date.now();
  const heardMs = Math.floor(nowMs / 1_000 / FLUSH_S) * FLUSH_S * 1_000;
  const [last, startMinute] = [Math.floor(heardMs / MINUTE_MS), Math.floor(startedAtMs / MINUTE_MS)];
  const isHours = minutes > 1_440;
  const step = isHours ? 3_600 : 60;
  const points: StatsPoint[] = [];
  const first = last - minutes + 1;
  for (let minute = isHours ? Math.ceil(first / 60) * 60 : first; minute <= last; minute += step / 60) {
    const part = minute === last ? (heardMs - minute * MINUTE_MS) / MINUTE_MS : 1;
    const at = new Date(minute * MINUTE_MS).toISOString();
    // An hour is sixty times its first minute: nobody looks closer.
    points.push(
      ...pointsOf(minute, startMinute, part).map((point) => ({ at, ...point, count: point.count * (step / 60) })),
    );
  }
  const ofMinutes = Map.groupBy(points, ({ at }) => at);
  const sum = (list: readonly StatsPoint[], wanted: (point: StatsPoint) => boolean) =>
    list.reduce((all, point) => all + (wanted(point) ? point.count : 0), 0);
  const perMinute = <T>(make: (at: string, list: readonly StatsPoint[]) => readonly T[]) =>
    [...ofMinutes].flatMap(([at, list]) => make(at, list));
  const counted = <L extends object>(at: string, count: number, labels: L) =>
    count >= 1 ? [{ at, ...labels, count: Math.round(count) }] : [];
  const ageOf = (key: string) => Number.parseInt(key.slice(0, 2), 36) || 1;
  return {
    points,
    top: Object.fromEntries(
      Object.entries(limited).map(([policy, keys]) => [
        policy,
        keys.map((key, i) => {
          const refused = Math.round((minutes * 74 + ageOf(key)) / (i + 1) ** 1.6);
          return { key, refused, where: whereOf(policy, i, refused) };
        }),
      ]),
    ),
    responses: perMinute((at, list) => {
      const passed = sum(list, ({ outcome }) => outcome === "admitted");
      const isAway = list.some(({ source }) => source === "fallback");
      const shares = { "2xx": 0.94, "3xx": 0.01, "4xx": 0.04, "5xx": isAway ? 0.2 : 0.002, none: isAway ? 0.1 : 0 };
      return Object.entries(shares).flatMap(([status, share]) => counted(at, passed * share, { status }));
    }),
    near: perMinute((at, list) => {
      const near = (policy: string, limit: string, share: number) =>
        counted(at, sum(list, (point) => point.policy === policy) * share, { policy, limit });
      return [...near("api", "api-2", 0.004), ...near("login", "login-1", 0.06)];
    }),
    calls: perMinute((at, list) => {
      const count = sum(list, ({ source }) => source === "redis");
      if (count < 1) return [];
      const all = BOUNDS.map((le, i) => [le, Math.round(count * SHARES[i]!)] as const);
      const seconds = Object.fromEntries(all.filter(([, n]) => n));
      return [{ at, place: "redis", outcome: "ok", count, seconds, sum: count * 0.0124 }];
    }) as StatsAnswer["calls"],
    fallback: perMinute((at, list) =>
      Object.keys(LOAD).flatMap((policy) => {
        const isOf = (point: StatsPoint) => point.source === "fallback" && point.policy === policy;
        return counted(at, sum(list, isOf), { policy });
      }),
    ),
    units: points
      .filter(({ policy, outcome }) => PAID.includes(policy) && outcome === "admitted")
      .map(({ at, policy, outcome, count }) => ({ at, policy, outcome, count: count * UNITS_OF_REQUEST })),
    ...answersIn(points),
    leases: [],
    open: [],
    heard: new Date(heardMs).toISOString(),
    step,
    flush: FLUSH_S,
  };
}

/** A gateway that has counted nothing yet. */
export function noStats(): StatsAnswer {
  const answers = { points: [], top: {}, near: [], calls: [], fallback: [], leases: [], open: [], responses: [] };
  const empty = { ...answers, units: [], settled: [], tokens: [] };
  return { ...empty, heard: null, step: 60, flush: FLUSH_S };
}
