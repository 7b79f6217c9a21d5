/**
 * Part 6: dollars per million requests, from the commands and calls that parts 1 and 2 counted and from public price
 * lists.
 */

import { WORKERS } from "../support/limiters.ts";
import { figure, type Part, table } from "../support/part.ts";
import { dollarsPerMillion } from "../support/stats.ts";

/**
 * Upstash Redis, pay as you go: $0.20 per 100,000 commands (upstash.com/docs/redis/overall/billing, read on
 * 2026-11-09). Cloudflare Workers, Standard: $0.30 per million requests and $0.02 per million ms of CPU above what the
 * plan includes (developers.cloudflare.com/workers/platform/pricing, read in copies of that page on 2026-11-21).
 */
const PRICES = { perCommand: 0.2 / 100_000, perRequest: 0.3 / 1e6, perCpuMs: 0.02 / 1e6 };

/** For each worker, the row of part 1 that says how many commands one call runs. */
const SCRIPT: Readonly<Record<string, string>> = {
  strict: "headgate sliding-window",
  leased: "headgate sliding-window",
  upstash: "@upstash/ratelimit slidingWindow",
  "upstash-plain": "@upstash/ratelimit slidingWindow",
  hono: "hono-rate-limiter (fixed window)",
  incr: "`INCR` + `EXPIRE`",
};

export const money: Part = async ({ figures }) => {
  const [redis, latency] = [figures("redis"), figures("latency")];
  if (!redis || !latency)
    throw new Error("expected figures of the parts redis and latency: run them in full first, or in the same run");
  const all = [
    ["half of 12,000 per minute", "minute"],
    ["twice 100 per 2 s", "80/2"],
    ["ten times 20 per 2 s", "80/10"],
  ] as const;
  // A quick run does not have all cases.
  const cases = all.filter(([, cell]) => `calls strict ${cell}` in latency);
  const rows = WORKERS.filter(({ id }) => SCRIPT[id]).map(({ id, title }) => {
    const commands = (state: string) => redis[`${SCRIPT[id]}, 1, ${state}`]!;
    const dollars = cases.map(([, cell]) => {
      const [calls, admitted] = [latency[`calls ${id} ${cell}`]!, latency[`admitted ${id} ${cell}`]!];
      // A strict limiter makes one call for each admission, and its other calls are refusals. A call of a leased
      // limiter may admit many requests.
      const admissions = Math.min(calls, admitted);
      const perRequest = admissions * commands("admitted") + Math.max(0, calls - admissions) * commands("refused");
      return dollarsPerMillion(PRICES, perRequest);
    });
    const hammered = latency[`hammered calls ${id}`]! * commands("refused");
    return {
      title,
      dollars: [...dollars, dollarsPerMillion(PRICES, hammered)],
    };
  });
  const none = dollarsPerMillion(PRICES, 0);
  const dollars = (value: number) => figure(value, "dollars");
  const head = ["", ...cases.map(([name]) => name), "a refused client that hammers"];
  const blocks = [
    table(head, [
      ["no limiter", ...Array.from({ length: cases.length + 1 }, () => dollars(none))],
      ...rows.map(({ title, dollars: all }) => [title, ...all.map(dollars)]),
    ]),
    `As of 2026-11: Upstash $${(PRICES.perCommand * 100_000).toFixed(2)} per 100,000 commands ([billing](https://upstash.com/docs/redis/overall/billing)), those inside a script too ([table of costs](https://upstash.com/docs/redis/sdks/ratelimit-ts/costs)). Workers $${(PRICES.perRequest * 1e6).toFixed(2)} per million requests ([pricing](https://developers.cloudflare.com/workers/platform/pricing/)). Left out: free allowances, storage, bandwidth, and CPU time at $${(PRICES.perCpuMs * 1e6).toFixed(2)} per million ms. No bill was looked at.`,
  ];
  const chart = {
    title: "Dollars per million requests at half of 12,000 per minute",
    unit: "$",
    rows: rows.map(({ title, dollars: [half] }) => ({ name: title.replaceAll("`", ""), value: half! })),
  };
  return { blocks, targets: [], charts: { "money.svg": chart }, figures: { none } };
};
