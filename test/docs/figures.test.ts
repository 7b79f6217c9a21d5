// Figures that other pages take from bench/results/benchmarks.md. test/docs/readme.test.ts has those of the README,
// test/migrate/comparison.test.ts the prices.

import { expect, it } from "vitest";
import { perMillion } from "../../scripts/simulate/scale/bill.ts";
import { MEASURED, measured, read, sectionOf, tableIn } from "./markdown.ts";

const added = (row: string) => measured("Size and start", row, "added, KiB gzip");
const whole = (row: string) => measured("Size and start", row, "KiB gzip");
/** What a bundler makes of an entry. `npm run check` compares the table with the bundles. */
const entry = (row: string) =>
  tableIn(read("docs/performance.md"), "What you import").find((cells) => cells["What you import"] === row)![
    "KiB gzip"
  ]!;
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

it("docs/performance.md says what was measured", () => {
  const half = (row: string, column: string) => measured("Half of the limit, 80 ms to Redis", row, column);
  const page = read("docs/performance.md").replaceAll(/\s+/g, " ");
  const served = "requests per second / no limiter";
  const [inFront = "", within = ""] = sectionOf(MEASURED, "Served from the isolate").split("Then in front of");
  const servedIn = (text: string, row: string) => tableIn(text, "").find((cells) => cells[""] === row)![served];
  const cpu = (limits: string) => measured(limits, "headgate sliding-window", "CPU / @upstash/ratelimit slidingWindow");
  const [, growth] = /grows by the factor ([\d.]+)/.exec(sectionOf(MEASURED, "Keys").replaceAll(/\s+/g, " "))!;
  const inRedis = (row: string, limits: string) => measured("Bytes per client", row, limits).split(" ")[0];
  const inProcess = (row: string) => measured("Memory of an isolate", row, "bytes", "what is remembered");
  const strict = perMillion({ admitted: 1, refused: 0, keys: 1 });
  const refused = perMillion({ admitted: 0, refused: 1, keys: 1 });
  const dollars = (amount: number) => `$${amount.toFixed(2)}`;
  for (const said of [
    ...(["strict", "leased"] as const).map(
      (mode) =>
        `| \`${mode}\` | ${half(`headgate, ${mode}`, "added p50, ms")} ms | ${half(`headgate, ${mode}`, "added p99, ms")} ms | ${half(`headgate, ${mode}`, "Redis calls / request")} |`,
    ),
    `it serves ${servedIn(inFront, "headgate, leased: admitted")} times as many admitted requests`,
    `and ${servedIn(inFront, "headgate, strict: refused")} times as many when it refuses`,
    `it serves ${servedIn(within, "headgate, leased: admitted")} times as many admitted requests`,
    `adds ${measured("Size and start", "headgate (the whole gateway)", "added by the limiter, ms")} ms to the time`,
    `(\`@upstash/ratelimit\`: ${measured("Size and start", "@upstash/ratelimit", "added by the limiter, ms")} ms)`,
    `takes ${tableIn(sectionOf(MEASURED, "The first answer of an isolate"), "paths").at(-1)!["/ 1 policy"]} times the CPU`,
    `| 1 | ${cpu("1 limit, admitted")} | 1 | | 3 | ${cpu("3 limits, admitted")} | 1 | | 8 | ${cpu("8 limits, admitted")} |`,
    `a decision gets ${growth} times as expensive`,
    `is known | ${dollars(strict.known)} | ${dollars(strict.upstash)} |`,
    `new client each time | ${dollars(strict.new)} | ${dollars(strict.upstash)} |`,
    `refused by the store | ${dollars(refused.known)} | ${dollars(refused.upstash)} |`,
    `| in Redis, a client with 1 limit | ${inRedis("headgate sliding-window", "1 limit")} |`,
    `| in Redis, a client with 8 limits | ${inRedis("headgate sliding-window", "8 limits")} |`,
    `| in Redis, a \`sliding-log\` with 50 requests in it | ${inRedis("headgate sliding-log", "1 limit")} |`,
    `has used up its limit | ${inProcess("`strict`: the counts of a client that has used up its limit")} |`,
    `with leased requests | ${inProcess("`leased`: the units that are held for a client")} |`,
  ]) {
    expect(page).toContain(said);
  }
  // What the page says in words.
  const us = (row: string) => Number(measured("1 limit, admitted", row, "µs"));
  expect(us("headgate sliding-window")).toBeCloseTo(8, 0);
  expect(us("headgate sliding-log") / us("headgate sliding-window")).toBeCloseTo(4, 0);
  expect(us("headgate concurrency") / us("headgate sliding-window")).toBeCloseTo(4, 0);
  // `tableIn` leaves out the outer backticks.
  expect(us("INCR` + `EXPIRE") / us("headgate sliding-window")).toBeCloseTo(0.5, 1);
  const hammered = measured("A client that hammers", "headgate, strict", "per 1000 requests");
  expect(Math.round(Number(hammered))).toBe(1);
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

it("docs/consistency.md says how many calls a busy limit makes as it was simulated", () => {
  const page = read("docs/consistency.md");
  const [, leased = "", shared = ""] = read("bench/results/consistency.md").split(/^## (?:leased|shared)$/m);
  const calls = (processes: string) => {
    const one = tableIn(leased, "Limit").find(
      (row) =>
        row.Demand === "0.95" && row.Processes === processes && row.Mode === "leased" && row.Traffic === "steady",
    )!;
    const other = tableIn(shared, "Algorithm").find(
      (row) => row.Algorithm === "sliding window" && row.Demand === "0.95" && row.Processes === processes,
    )!;
    // Calls per second and process, by the requests per second: 0.95 times 10,000 in 10 s.
    const perRequest = (Number(other.Calls) * Number(processes)) / 950;
    return `${processes} processes | 1 | ${one["Calls per request"]} | ${perRequest.toFixed(3)} |`;
  };
  for (const processes of ["20", "100", "300"]) expect(page).toContain(calls(processes));
});
