// Figures that other pages take from docs/benchmarks.md. test/docs/readme.test.ts has those of the README,
// test/migrate/comparison.test.ts the prices.

import { expect, it } from "vitest";
import { MEASURED, measured, read, sectionOf, tableIn } from "./markdown.ts";

const added = (row: string) => measured("Size and start", row, "added, KiB gzip");
const whole = (row: string) => measured("Size and start", row, "KiB gzip");
/** The second table of that section: what a bundler makes of an entry. */
const entry = (row: string) => {
  const [, bundled] = sectionOf(MEASURED, "Size and start").split(/(?=^\| {2}\| KiB gzip \|$)/m);
  return tableIn(bundled!, "").find((cells) => cells[""] === row)!["KiB gzip"]!;
};
const about = (kib: string) => (Number(kib) >= 10 ? Number(kib).toFixed(0) : String(Number(Number(kib).toFixed(1))));

it.each([
  [
    "docs/comparison.md",
    `| Bundle of the gateway | ${about(whole("headgate (the whole gateway)"))} KiB gzip, Hono included |`,
  ],
  ["docs/comparison.md", `${about(added("headgate (the whole gateway)"))} KiB the whole gateway`],
  ["docs/comparison.md", `wherever there is \`fetch\`. ${about(added("@upstash/ratelimit"))} KiB |`],
  ["docs/comparison.md", `Hono, on every runtime. ${about(added("hono-rate-limiter"))} KiB |`],
  ["docs/comparison.md", `Workers only. ${about(added("rate limit binding"))} KiB |`],
  ["docs/library.md", `${about(entry("headgate, a limiter with the memory store"))} KiB with the memory store`],
  ["docs/library.md", `with \`withRateLimit\` | ${about(entry("headgate, the same in front of a handler"))} KiB |`],
  ["docs/library.md", `with Redis | ${about(entry("headgate, with Redis"))} KiB |`],
  ["docs/library.md", `with a Durable Object | ${about(entry("headgate, with a Durable Object"))} KiB |`],
  ["docs/library.md", `only for Workers | ${about(entry("headgate/durable-object"))} KiB |`],
  ["docs/library.md", `4.9 or later | ${about(entry("headgate/hono, alone"))} KiB without a store`],
  ["docs/library.md", `\`node:http\` | ${about(entry("headgate/express, alone"))} KiB without a store`],
  ["docs/library.md", `a limited API | ${about(entry("headgate/client"))} KiB |`],
  ["docs/library.md", `language models | ${about(entry("headgate/llm"))} KiB |`],
  ["docs/library.md", `the whole gateway | ${about(entry("headgate/worker"))} KiB |`],
  ["docs/clients.md", `${about(entry("headgate/client"))} KiB`],
  ["docs/migrate/upstash-ratelimit.md", `adds about ${about(added("@upstash/ratelimit"))} KiB`],
  ["docs/migrate/upstash-ratelimit.md", `with Redis about ${about(entry("headgate, with Redis"))} KiB`],
  ["docs/migrate/hono-rate-limiter.md", `adds about ${about(added("hono-rate-limiter"))} KiB`],
  ["docs/migrate/hono-rate-limiter.md", `about ${about(entry("headgate, with Redis"))} KiB with Redis`],
])("%s says a size as it was measured: %s", (page, said) => {
  expect(read(page).replaceAll(/\s+/g, " ")).toContain(said);
});

it("docs/comparison.md and the guide from rate-limiter-flexible say what Redis keeps and computes as it was measured", () => {
  const bytes = (row: string, limits: string) => measured("Bytes per client", row, limits).split(" ")[0];
  expect(read("docs/comparison.md")).toContain(
    `| ${bytes("headgate sliding-window", "1 limit")} bytes with 1 limit, ${bytes("headgate sliding-window", "8 limits")} with 8; a log of 50 requests ${bytes("headgate sliding-log", "1 limit")} |`,
  );
  const cpu = (row: string) => Number(measured("1 limit, admitted", row, "CPU / @upstash/ratelimit slidingWindow"));
  const part = cpu("rate-limiter-flexible (fixed window)") / cpu("headgate sliding-window");
  expect(read("docs/migrate/rate-limiter-flexible.md")).toContain(`relative to headgate | ${part.toFixed(2)} | 1 |`);
});

it("docs/comparison.md says what limiters admit, charge and promise as it was measured", () => {
  const worst = (trace: string, ...rows: string[]) =>
    rows.map((row) => measured("Admitted in the worst true window / limit", row, trace));
  const over = (trace: string, ...rows: string[]) =>
    rows.map((row) => String(Number(measured("Units charged beyond those admitted", row, trace))));
  const needless = (row: string) => measured("The promised wait", row, "needless");
  const range = (values: readonly string[]) => {
    const sorted = [...new Set(values)].sort((a, b) => Number(a) - Number(b));
    return sorted.length === 1 ? sorted[0] : `${sorted[0]} to ${sorted.at(-1)}`;
  };
  const [own, log] = ["headgate sliding-window", "headgate sliding-log"];
  const [hono, flexible, block] = ["hono-rate-limiter", "rate-limiter-flexible", "rate-limiter-flexible, block"];
  const [cached, uncached] = ["upstash slidingWindow, cache", "upstash slidingWindow, no cache"];
  // `cachedFixedWindow` is left out where a count is shared: each isolate counts by itself.
  const shared = [cached, uncached, "upstash fixedWindow, cache"];
  const rows = [
    [
      `${worst("boundary", own)}; \`sliding-log\` ${worst("boundary", log)}`,
      `${worst("boundary", uncached)}; with its cache ${worst("boundary", cached)}`,
      `${worst("boundary", hono)}`,
      `${worst("boundary", flexible)}`,
    ],
    [own, undefined, hono, flexible].map((row) => range(worst("skewed", ...(row ? [row] : shared)))),
    [
      ...over("denied", own),
      `${range(over("denied", cached, uncached))}; \`fixedWindow\` ${over("denied", "upstash fixedWindow, cache")}`,
      ...over("denied", hono),
      `${over("denied", flexible)}; with its memory block ${over("denied", block)}`,
    ],
    [
      ...over("multi", own),
      range(over("multi", ...shared, "upstash cachedFixedWindow")),
      ...over("multi", hono),
      `${over("multi", flexible)}; with its memory block ${over("multi", block)}`,
    ],
    [needless(own), `${needless(uncached)}; with its cache ${needless(cached)}`, needless(hono), needless(flexible)],
  ];
  const told = tableIn(read("docs/comparison.md"), "Measured").map((row) => Object.values(row).slice(1));
  expect(told).toEqual(rows);
  // Of the clients that wait as long as they should, none is refused again.
  expect([own, uncached, hono, flexible].map((row) => measured("The promised wait", row, "refused again"))).toEqual(
    Array<string>(4).fill("0 %"),
  );
});

it("docs/decisions/0004-leases.md says what leases cost and save as it was measured", () => {
  const half = (row: string, column: string) => measured("Half of the limit, 80 ms to Redis", row, column);
  const money = (row: string) => measured("Money", row, "half of 12,000 per minute");
  const bytes = (row: string) => measured("Memory of an isolate", row, "bytes", "what is remembered");
  const page = read("docs/decisions/0004-leases.md").replaceAll(/\s+/g, " ");
  for (const said of [
    `\`leased\` adds ${half("headgate, leased", "added p50, ms")} ms to the median request`,
    `makes ${half("headgate, leased", "Redis calls / request")} calls per request`,
    `\`strict\` adds ${half("headgate, strict", "added p50, ms")} ms`,
    `${money("headgate, leased")} against ${money("headgate, strict")}`,
    `takes ${bytes("`leased`: the units that are held for a client")} bytes`,
    `under \`strict\` ${bytes("`strict`: the counts of a client that has used up its limit")}.`,
  ]) {
    expect(page).toContain(said);
  }
});
