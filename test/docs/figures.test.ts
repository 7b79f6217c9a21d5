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
  ["docs/client.md", `${about(entry("headgate/client"))} KiB`],
  ["docs/migrate/upstash-ratelimit.md", `adds about ${about(added("@upstash/ratelimit"))} KiB`],
  ["docs/migrate/upstash-ratelimit.md", `with Redis about ${about(entry("headgate, with Redis"))} KiB`],
  ["docs/migrate/hono-rate-limiter.md", `adds about ${about(added("hono-rate-limiter"))} KiB`],
  ["docs/migrate/hono-rate-limiter.md", `about ${about(entry("headgate, with Redis"))} KiB with Redis`],
])("%s says a size as it was measured: %s", (page, said) => {
  expect(read(page).replaceAll(/\s+/g, " ")).toContain(said);
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
