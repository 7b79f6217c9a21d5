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
  ["docs/limits.md", `[${about(whole("headgate (the whole gateway)"))} KiB](benchmarks.md#size-and-start)`],
  ["docs/comparison.md", `${about(added("headgate (the whole gateway)"))} KiB the whole gateway`],
  ["docs/comparison.md", `wherever there is \`fetch\`. ${about(added("@upstash/ratelimit"))} KiB |`],
  ["docs/comparison.md", `Hono, on every runtime. ${about(added("hono-rate-limiter"))} KiB |`],
  ["docs/comparison.md", `Workers only. ${about(added("rate limit binding"))} KiB |`],
  [
    "docs/library.md",
    `${about(entry("headgate, a limiter with the memory store"))} KiB a limiter with the memory store`,
  ],
  ["docs/library.md", `${about(entry("headgate, the same in front of a handler"))} KiB with \`withRateLimit\``],
  ["docs/library.md", `${about(entry("headgate, with Redis"))} KiB with Redis`],
  ["docs/library.md", `${about(entry("headgate/hono, alone"))} KiB without Hono and a store`],
  ["docs/library.md", `| \`headgate/client\` | ${about(entry("headgate/client"))} KiB`],
  ["docs/library.md", `${about(entry("headgate/worker"))} KiB without Hono, the whole gateway`],
  ["docs/clients.md", `${about(entry("headgate/client"))} KiB`],
  ["docs/migrate/upstash-ratelimit.md", `adds about ${about(added("@upstash/ratelimit"))} KiB`],
  ["docs/migrate/upstash-ratelimit.md", `with Redis about ${about(entry("headgate, with Redis"))} KiB`],
  ["docs/migrate/hono-rate-limiter.md", `adds about ${about(added("hono-rate-limiter"))} KiB`],
  ["docs/migrate/hono-rate-limiter.md", `about ${about(entry("headgate, with Redis"))} KiB with Redis`],
])("%s says a size as it was measured: %s", (page, said) => {
  expect(read(page).replaceAll(/\s+/g, " ")).toContain(said);
});

it("docs/limits.md and the guide from rate-limiter-flexible say what Redis keeps and computes as it was measured", () => {
  const bytes = (row: string, limits: string) => measured("Bytes per client", row, limits).split(" ")[0];
  expect(read("docs/limits.md")).toContain(
    `| ${bytes("headgate sliding-window", "1 limit")} bytes with 1 limit, ${bytes("headgate sliding-window", "8 limits")} with 8; a log of 50 requests ${bytes("headgate sliding-log", "1 limit")} (`,
  );
  const cpu = (row: string) => Number(measured("1 limit, admitted", row, "CPU / @upstash/ratelimit slidingWindow"));
  const part = cpu("rate-limiter-flexible (fixed window)") / cpu("headgate sliding-window");
  expect(read("docs/migrate/rate-limiter-flexible.md")).toContain(`| ${part.toFixed(2)} of headgate's ([measured]`);
});

it("docs/comparison.md says what limiters admit, charge and promise as it was measured", () => {
  const worst = (trace: string, ...rows: string[]) =>
    rows.map((row) => measured("Admitted in the worst true window / limit", row, trace));
  const over = (trace: string, ...rows: string[]) =>
    rows.map((row) => Number(measured("Units charged beyond those admitted", row, trace)));
  const range = <T extends string | number>(values: readonly T[]) => {
    const sorted = [...new Set(values)].sort((a, b) => Number(a) - Number(b));
    return sorted.length === 1 ? `${sorted[0]}` : `${sorted[0]} to ${sorted.at(-1)}`;
  };
  const wait = (row: string) =>
    ["refused again", "needless"].map((column) => measured("The promised wait", row, column)).join(", ");
  // `cachedFixedWindow` is left out where a count is shared: each isolate counts by itself.
  const shared = ["slidingWindow, cache", "slidingWindow, no cache", "fixedWindow, cache"].map(
    (one) => `upstash ${one}`,
  );
  const page = read("docs/comparison.md");
  for (const said of [
    `(measured: ${range(worst("skewed", ...shared))} times the limit, with windows of 2 s`,
    `one call each (measured: ${range(over("multi", ...shared, "upstash cachedFixedWindow"))} units too many)`,
    `yes (measured: ${over("denied", "upstash fixedWindow, cache")[0]} with the cache), in the others no`,
    `(measured: ${measured("The promised wait", "upstash slidingWindow, no cache", "needless")} of the wait needless`,
    `up to twice the limit (measured: ${worst("boundary", "hono-rate-limiter")[0]}) | no (measured: ${over("multi", "hono-rate-limiter")[0]} units too many) | yes (measured: ${over("denied", "hono-rate-limiter")[0]} units for 60 requests`,
    `(measured: ${wait("hono-rate-limiter")}). None with the binding`,
    `up to twice the limit (measured: ${worst("boundary", "rate-limiter-flexible")[0]}) | no: \`RateLimiterUnion\` charges each (measured: ${over("multi", "rate-limiter-flexible")[0]} units too many; ${over("multi", "rate-limiter-flexible, block")[0]} with its memory block) | yes (measured: ${over("denied", "rate-limiter-flexible")[0]} units); with its memory block no (measured: ${over("denied", "rate-limiter-flexible, block")[0]})`,
    `end of the window (measured: ${wait("rate-limiter-flexible")})`,
  ]) {
    expect(page).toContain(said);
  }
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

it("docs/tcp.md says what a decision over TCP costs as it was measured", () => {
  const rows = tableIn(sectionOf(MEASURED, "Redis over TCP"), "client");
  const range = (...columns: string[]) => {
    const values = rows.flatMap((row) => columns.map((column) => Number(row[column]))).sort((a, b) => a - b);
    return [values[0]!, values.at(-1)!] as const;
  };
  const said = read("docs/tcp.md").replaceAll(/\s+/g, " ");
  const [least, most] = range("a decision").map((value) => value.toFixed(1));
  expect(said).toContain(`a decision costs ${least} to ${most} times the client's own \`EVALSHA\``);
  const [few, many] = range("from a lease", "refused from memory").map((value) => value.toFixed(2));
  expect(said).toContain(`from a lease ${few} to ${many} times`);
});
