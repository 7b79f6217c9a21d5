/**
 * Reads what an answer says about limits, from all fields in use: `Retry-After`, the `RateLimit` fields of all drafts,
 * and the unspecified `X-RateLimit-` fields. A negative value, a value that is not a number, or a field above 8 KiB
 * counts as absent.
 */

/** One limit, as an answer states it. */
export interface StatedLimit {
  /** Units left. */
  readonly remaining: number;
  /** The time until more units are left, in milliseconds. */
  readonly afterMs: number | undefined;
  readonly windowMs: number | undefined;
}

interface SentHeaders {
  get(name: string): string | null | undefined;
}

/** Longer than every time budget, and still an exact integer. */
const LONGEST_MS = 2 ** 53 - 1;

/** A smaller reset counts seconds from now (up to 31 years); as an epoch time, 10^9 s is in 2001. */
const FIRST_EPOCH_S = 1e9;

/** A reset from here on is in milliseconds: 10^11 s after the epoch is the year 5138, 10^11 ms is 1973. */
const FIRST_EPOCH_MS = 1e11;

/** Prefixes of `limit`, `remaining` and `reset`: of drafts 0 to 6, of most APIs, and of a few APIs. */
const PREFIXES = ["RateLimit-", "X-RateLimit-", "X-Rate-Limit-"];

/** A longer field counts as absent, in characters. 8 limits of a policy take about 400. */
const LONGEST_FIELD = 8192;
/** Further members of a list are ignored. */
const MOST_MEMBERS = 100;

/**
 * The members of a list, and the parts of a member. A separator inside quotes does not separate. The closing quote may
 * be missing: an expression that had to find it would read the rest of the text again for each opening quote.
 */
const MEMBERS = /(?:"(?:[^"\\]|\\.)*"?|[^",])+/g;
const PARTS = /(?:"(?:[^"\\]|\\.)*"?|[^";])+/g;

/** HTTP's date formats, which begin with the name of a day. `Date.parse` alone would accept "in 5 minutes". */
const HTTP_DATE = /^[A-Z][a-z]{2,8},? .*\d\d:\d\d:\d\d/;

/**
 * `Retry-After` in milliseconds. The field holds seconds or a date; of several numbers the largest counts. A date in
 * the past gives 0.
 *
 * @param nowMs the client's clock, used if the answer has no `Date`.
 */
export function retryAfterMs(headers: SentHeaders, nowMs: number): number | undefined {
  const text = read(headers, "Retry-After");
  const dateMs = parseDate(text);
  if (dateMs !== undefined) return Math.max(0, dateMs - serverNowMs(headers, nowMs));
  const seconds = text.split(",").flatMap((one) => numberOf(one) ?? []);
  return seconds.length > 0 ? milliseconds(Math.max(...seconds)) : undefined;
}

/** The limits that an answer states, from the newest draft that it follows. @param nowMs the client's clock. */
export function rulesOf(headers: SentHeaders, nowMs: number): StatedLimit[] {
  const states = listOf(read(headers, "RateLimit"));
  const policies = listOf(read(headers, "RateLimit-Policy") || read(headers, "RateLimit-Limit"));

  // Draft 8 and later: "name";r=7;t=1
  const rules = states.flatMap(([name, parameters]): StatedLimit[] => {
    const remaining = numberOf(parameters.get("r"));
    if (remaining === undefined) return [];
    const window = policies.find(([other]) => other === name)?.[1].get("w");
    return [
      { remaining, afterMs: milliseconds(numberOf(parameters.get("t"))), windowMs: milliseconds(numberOf(window)) },
    ];
  });
  if (rules.length > 0) return rules;

  // Draft 7: limit=10, remaining=7, reset=1 in one field. Earlier drafts and the X- fields: one field for each number.
  const draft7 = new Map(states.map(([name]) => name.split("=") as [string, string]));
  const families = [
    (what: string) => draft7.get(what),
    ...PREFIXES.map((prefix) => (what: string) => read(headers, prefix + what)),
  ];
  for (const stated of families) {
    const remaining = firstOf(stated("remaining"));
    if (remaining === undefined) continue;
    const quota = firstOf(stated("limit"));
    const window = policies.find(([name, parameters]) => numberOf(name) === quota && parameters.has("w"))?.[1].get("w");
    const afterMs = untilReset(firstOf(stated("reset")), serverNowMs(headers, nowMs));
    return [{ remaining, afterMs, windowMs: milliseconds(numberOf(window)) }];
  }
  return [];
}

/** A reset is in seconds from now, seconds since the epoch or milliseconds since the epoch: they are decades apart. */
function untilReset(reset: number | undefined, serverMs: number): number | undefined {
  if (reset === undefined || reset < FIRST_EPOCH_S) return milliseconds(reset);
  return Math.max(0, (reset < FIRST_EPOCH_MS ? reset * 1000 : reset) - serverMs);
}

/** The server's clock: the server's instants belong to it, and the client's clock may be wrong by hours. */
function serverNowMs(headers: SentHeaders, nowMs: number): number {
  return parseDate(read(headers, "Date")) ?? nowMs;
}

function parseDate(text: string): number | undefined {
  if (!HTTP_DATE.test(text)) return undefined;
  // The format of asctime names no zone, and means GMT as the other formats do.
  const ms = Date.parse(text.endsWith("GMT") ? text : `${text} GMT`);
  return Number.isNaN(ms) ? undefined : ms;
}

/** A field; empty if it is absent or too long. */
function read(headers: SentHeaders, name: string): string {
  const text = headers.get(name) ?? "";
  return text.length > LONGEST_FIELD ? "" : text;
}

function listOf(text: string): [name: string, parameters: Map<string, string>][] {
  return (text.match(MEMBERS) ?? []).slice(0, MOST_MEMBERS).map((member) => {
    const [name = "", ...parameters] = (member.match(PARTS) ?? []).map((part) => part.trim());
    return [name, new Map(parameters.map((one) => one.split("=") as [string, string]))];
  });
}

function firstOf(text: string | undefined): number | undefined {
  return numberOf(text?.split(/[,;]/)[0]);
}

function numberOf(text: string | undefined): number | undefined {
  return /^\s*\d+(\.\d+)?\s*$/.test(text ?? "") ? Math.min(Number(text), LONGEST_MS) : undefined;
}

function milliseconds(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : Math.min(seconds * 1000, LONGEST_MS);
}
