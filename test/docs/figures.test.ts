// Figures that other pages take from bench/results/benchmarks.md. test/docs/readme.test.ts has those of the README,
// test/migrate/comparison.test.ts the prices.

import { expect, it } from "vitest";
import { freeCallsPerDay, objectsBill, UNITS } from "../../scripts/simulate/scale/bill.ts";
import { MEASURED, measured, read, sectionOf, tableIn } from "./markdown.ts";

const added = (row: string) => measured("Size and start", row, "added, KiB gzip");
/** What a bundler makes of an entry. `npm run check` compares the table with the bundles. */
const entry = (row: string) =>
  tableIn(read("docs/performance.md"), "What you import").find((cells) => cells["What you import"] === row)![
    "KiB gzip"
  ]!;
const about = (kib: string) => (Number(kib) >= 10 ? Number(kib).toFixed(0) : String(Number(Number(kib).toFixed(1))));

it.each([
  ["docs/comparison.md", `with a Durable Object ${about(entry("headgate, with a Durable Object"))} KiB`],
  ["docs/comparison.md", `wherever there is \`fetch\`. ${about(added("@upstash/ratelimit"))} KiB |`],
  ["docs/comparison.md", `Hono, on every runtime. ${about(added("hono-rate-limiter"))} KiB |`],
  ["docs/comparison.md", `Workers only. ${about(added("rate limit binding"))} KiB |`],
  ["docs/clients.md", `${about(entry("headgate/client"))} KiB`],
  ["docs/migrate/upstash-ratelimit.md", `adds about ${about(added("@upstash/ratelimit"))} KiB`],
  ["docs/migrate/upstash-ratelimit.md", `with Redis about ${about(entry("headgate, with Redis"))} KiB`],
  ["docs/migrate/hono-rate-limiter.md", `adds about ${about(added("hono-rate-limiter"))} KiB`],
  ["docs/migrate/hono-rate-limiter.md", `about ${about(entry("headgate, with Redis"))} KiB with Redis`],
])("%s says a size as it was measured: %s", (page, said) => {
  expect(read(page).replaceAll(/\s+/g, " ")).toContain(said);
});

it("the guide from rate-limiter-flexible says what Redis computes as it was measured", () => {
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
  for (const said of [
    ...(["strict", "leased"] as const).map(
      (mode) =>
        `| \`${mode}\` | ${half(`headgate, ${mode}`, "added p50, ms")} ms | ${half(`headgate, ${mode}`, "added p99, ms")} ms | ${half(`headgate, ${mode}`, "Redis calls / request")} |`,
    ),
    `the gateway serves ${servedIn(inFront, "headgate, leased: admitted")} times as many requests per second if it admits`,
    `and ${servedIn(inFront, "headgate, strict: refused")} times as many if it refuses`,
    `A one-line handler serves ${servedIn(within, "headgate, leased: admitted")} times as many requests`,
    `adds ${measured("Size and start", "headgate (the whole gateway)", "added by the limiter, ms")} ms to the time`,
    `(\`@upstash/ratelimit\`: ${measured("Size and start", "@upstash/ratelimit", "added by the limiter, ms")} ms)`,
    `| ${cpu("1 limit, admitted")} | ${cpu("3 limits, admitted")} | ${cpu("8 limits, admitted")} |`,
    `a decision gets ${growth} times as expensive`,
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

it("docs/deploy.md says what the Worker and its object cost together by the prices of bench/results/objects.md", () => {
  const prices = read("bench/results/objects.md");
  const [, plan, included, perMillionRequests] =
    /paid: \$(\d+), (\d+) M requests included, then \$([\d.]+) per million/.exec(prices)!;
  const known = { rowsPerCall: UNITS.rowsWritten.known };
  const onlyNew = { rowsPerCall: UNITS.rowsWritten.first + UNITS.rowsWritten.removed };
  const told = tableIn(read("docs/deploy.md"), "Requests, all admitted").map((row) => Object.values(row));
  const rows = [1, 10, 100, 1_000].map((millions, i) => {
    const worker = Number(plan) + Math.max(0, millions - Number(included)) * Number(perMillionRequests);
    const bill = (perRequest: number, rowsOf: { readonly rowsPerCall: number }, objects = 1) => {
      const dollars = worker + objectsBill({ calls: millions * 1e6 * perRequest, objects, ...rowsOf });
      return `$${dollars < 100 ? dollars.toFixed(2) : Math.round(dollars).toLocaleString("en")}`;
    };
    const objects = millions === 1_000 ? 4 : 1;
    return [told[i]![0], bill(1, known, objects), bill(1, onlyNew, objects), bill(0.1, known)];
  });
  expect(told).toEqual(rows);
  expect(read("docs/deploy.md")).toContain(`about ${Math.floor(freeCallsPerDay(1) / 1000)},000 requests a day`);
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
