/**
 * What an answer says of limits, from any of the fields in use: `Retry-After`, the drafts' `RateLimit` fields old and
 * new, and the `X-RateLimit-` fields that nobody specified. What is negative or no number is as if it were absent.
 */

/** One limit, as an answer tells it. */
export interface Rule {
  /** Empty if the fields know one limit only. */
  readonly name: string;
  /** Units left. */
  readonly remaining: number;
  /** Until there are more, in milliseconds. */
  readonly afterMs?: number | undefined;
  /** Units of the whole window. */
  readonly quota?: number | undefined;
  readonly windowMs?: number | undefined;
  /** Units are requests in flight: they come back as requests end. */
  readonly isConcurrent?: boolean | undefined;
}

interface Fields {
  get(name: string): string | null | undefined;
}

/** Later than every time budget, and still an exact number. */
const LONGEST_MS = 2 ** 53 - 1;

/** Below this a reset counts seconds from now (31 years of them): 10^9 s after the epoch was in 2001. */
const FIRST_EPOCH_S = 1e9;

/** From here on it is in milliseconds: 10^11 s after the epoch is the year 5138, 10^11 ms is 1973. */
const FIRST_EPOCH_MS = 1e11;

/** A field each: drafts 0 to 6, most APIs, a few. */
const PREFIXES = ["RateLimit-", "X-RateLimit-", "X-Rate-Limit-"];

/** Members of a list, then the parts of a member; a separator inside of quotes is none. */
const MEMBERS = /(?:"(?:[^"\\]|\\.)*"|[^",])+/g;
const PARTS = /(?:"(?:[^"\\]|\\.)*"|[^";])+/g;

/** The date formats that HTTP knows, which all begin with a day's name; `Date.parse` alone would take "in 5 minutes". */
const HTTP_DATE = /^[A-Z][a-z]{2,8},? .*\d\d:\d\d:\d\d/;

/**
 * `Retry-After` in milliseconds: seconds or a date; of several numbers the largest. A date that has passed is 0.
 *
 * @param nowMs the client's clock, used if the answer has no `Date`.
 */
export function retryAfterMs(headers: Fields, nowMs: number): number | undefined {
  const text = headers.get("Retry-After") ?? "";
  const dateMs = parseDate(text);
  if (dateMs !== undefined) return Math.max(0, dateMs - serverNowMs(headers, nowMs));
  const seconds = text.split(",").flatMap((one) => numberOf(one) ?? []);
  return seconds.length > 0 ? milliseconds(Math.max(...seconds)) : undefined;
}

/** The limits that an answer tells, from the newest draft that it speaks. @param nowMs the client's clock. */
export function rulesOf(headers: Fields, nowMs: number): Rule[] {
  const states = listOf(headers.get("RateLimit"));
  const policies = listOf(headers.get("RateLimit-Policy") ?? headers.get("RateLimit-Limit"));

  // Draft 8 and later: "name";r=7;t=1
  const rules = states.flatMap(([name, parameters]): Rule[] => {
    const remaining = numberOf(parameters.get("r"));
    const policy = policies.find(([other]) => other === name)?.[1];
    return remaining === undefined
      ? []
      : [
          {
            name,
            remaining,
            afterMs: milliseconds(numberOf(parameters.get("t"))),
            quota: numberOf(policy?.get("q")),
            windowMs: milliseconds(numberOf(policy?.get("w"))),
            isConcurrent: policy?.get("qu")?.includes("concurrent"),
          },
        ];
  });
  if (rules.length > 0) return rules;

  // Draft 7: limit=10, remaining=7, reset=1. Before it, and in the X- fields: a field each.
  const draft7 = new Map(states.map(([name]) => name.split("=") as [string, string]));
  const families = [
    (what: string) => draft7.get(what),
    ...PREFIXES.map((prefix) => (what: string) => headers.get(prefix + what)),
  ];
  for (const told of families) {
    const remaining = firstOf(told("remaining"));
    if (remaining === undefined) continue;
    const quota = firstOf(told("limit"));
    const window = policies.find(([name, parameters]) => numberOf(name) === quota && parameters.has("w"))?.[1].get("w");
    const afterMs = untilReset(firstOf(told("reset")), serverNowMs(headers, nowMs));
    return [{ name: "", remaining, afterMs, quota, windowMs: milliseconds(numberOf(window)) }];
  }
  return [];
}

/** Seconds from now, seconds since the epoch or milliseconds since the epoch: the three are decades apart. */
function untilReset(reset: number | undefined, serverMs: number): number | undefined {
  if (reset === undefined || reset < FIRST_EPOCH_S) return milliseconds(reset);
  return Math.max(0, (reset < FIRST_EPOCH_MS ? reset * 1000 : reset) - serverMs);
}

/** The server's clock, since its instants are read by it; the client's may be wrong by hours. */
function serverNowMs(headers: Fields, nowMs: number): number {
  return parseDate(headers.get("Date") ?? "") ?? nowMs;
}

function parseDate(text: string): number | undefined {
  if (!HTTP_DATE.test(text)) return undefined;
  // asctime's form names no zone, and means GMT like the others.
  const ms = Date.parse(text.endsWith("GMT") ? text : `${text} GMT`);
  return Number.isNaN(ms) ? undefined : ms;
}

function listOf(text: string | null | undefined): [name: string, parameters: Map<string, string>][] {
  return (text?.match(MEMBERS) ?? []).map((member) => {
    const [name = "", ...parameters] = (member.match(PARTS) ?? []).map((part) => part.trim());
    return [name, new Map(parameters.map((one) => one.split("=") as [string, string]))];
  });
}

function firstOf(text: string | null | undefined): number | undefined {
  return numberOf(text?.split(/[,;]/)[0]);
}

function numberOf(text: string | null | undefined): number | undefined {
  return /^\s*\d+(\.\d+)?\s*$/.test(text ?? "") ? Math.min(Number(text), LONGEST_MS) : undefined;
}

function milliseconds(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : Math.min(seconds * 1000, LONGEST_MS);
}
