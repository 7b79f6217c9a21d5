/**
 * `npm run soak`: an hour in the life of a gateway, compressed: several policies, clients that come and go, and a fault
 * in every minute. Watches workerd's memory and what remains in Redis. Exits with 1 if a bound is broken.
 *
 * A minute takes 10 s and has 5,000 requests. `--quick`: 6 minutes of 1,500 requests.
 */

import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { FAULTS, type Fault, startFaultRig } from "../../test/support/faults/fault-rig.ts";
import { commandLine, descendants } from "../../test/support/gateway/processes.ts";
import { startLocalGateway } from "../dev/local-gateway.ts";
import { percentile, type Sample, statusCounts, steadyLoad } from "./steady-load.ts";

const { values } = parseArgs({
  options: { quick: { type: "boolean", default: false } },
});
const MINUTES = values.quick ? 6 : 60;
const REQUESTS_PER_MINUTE = values.quick ? 1_500 : 5_000;
const PER_SECOND = 500;
/** The most open requests. A slower machine takes longer instead of piling up requests. */
const AT_ONCE = 64;
/** The short form runs every fourth fault. */
const FAULT_STEP = values.quick ? 4 : 1;
/** The part of a minute before its fault, and the part with the fault. */
const [FAULT_FROM, FAULT_FOR] = [0.3, 0.3];
/** After this many minutes, everything with a bounded size is full. */
const WARM_UP = values.quick ? 3 : 15;
const GROWS_AT_MOST = 0.2;
const BUDGET_MS = 250;
/** `npm run faults` measures latencies. Here the machine is busy, so only an answer that hangs counts. */
const HANGS_AFTER_MS = 10_000;
/** Half of all requests come from these clients. The others come from clients that stay for a minute or two. */
const REGULARS = 40;
const VISITORS_PER_MINUTE = 4_000;

const POLICIES = [
  {
    name: "login",
    match: { path: "/login" },
    limits: [
      { limit: 5, window: "1m" },
      { limit: 20, window: "1h" },
    ],
    onStoreFailure: "deny",
  },
  {
    name: "api",
    match: { path: "/v1/*" },
    limits: [
      { limit: 10, window: "1s", scope: "region" },
      { limit: 600, window: "1m" },
    ],
  },
  { name: "log", match: { path: "/v1/*" }, limits: [{ limit: 50, window: "30s", algorithm: "sliding-log" }] },
  {
    name: "bucket",
    match: { path: "/v1/search" },
    limits: [{ limit: 60, window: "1m", algorithm: "token-bucket", burst: 10 }],
  },
  { name: "flight", match: { path: "/v1/search" }, limits: [{ limit: 5, algorithm: "concurrency", timeout: "5s" }] },
  {
    name: "site",
    key: ["global"],
    limits: [{ limit: 100_000, window: "1m", buckets: 6, oldest: "whole" }],
    onStoreFailure: "allow",
  },
  { name: "watched", mode: "shadow", limits: [{ limit: 3, window: "10s" }] },
];
const PATHS = ["/", "/v1/items", "/login", "/v1/search", "/v1/items?page=2"];

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** The resident memory of a process, in MiB. */
function residentMiB(pid: number): number {
  const [, kib] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kib) / 1024;
}

const rig = await startFaultRig();
const uncaught: string[] = [];
const gateway = await startLocalGateway(
  {
    UPSTASH_REDIS_REST_URL: rig.rest.url,
    UPSTASH_REDIS_REST_TOKEN: rig.rest.token,
    REDIS_TIMEOUT_MS: BUDGET_MS,
    POLICIES,
  },
  {
    onLog: (line) => {
      if (line.includes("source = unhandled")) uncaught.push(line);
    },
  },
);
const workerd = descendants(process.pid).find((pid) => /workerd\S* serve/.test(commandLine(pid)));
if (workerd === undefined) throw new Error("expected a workerd among this process's children, found none");

const faults = Object.keys(FAULTS) as Fault[];
const memoryMiB: number[] = [];
const all: Sample[] = [];
for (let minute = 0; minute < MINUTES; minute++) {
  const fault = faults[(minute * FAULT_STEP) % faults.length]!;
  const lengthMs = (REQUESTS_PER_MINUTE / PER_SECOND) * 1000;
  const loading = steadyLoad({
    urls: [gateway.url],
    requests: REQUESTS_PER_MINUTE,
    perSecond: PER_SECOND,
    atOnce: AT_ONCE,
    ask: (n) => {
      const visitor = REGULARS + (minute * VISITORS_PER_MINUTE) / 2 + ((n * 7_919) % VISITORS_PER_MINUTE);
      const client = n % 2 === 0 ? (n / 2) % REGULARS : visitor;
      const address = `10.${client >> 16}.${(client >> 8) & 255}.${client & 255}`;
      return { path: PATHS[n % PATHS.length]!, address };
    },
  });
  await pause(lengthMs * FAULT_FROM);
  await rig.begin(fault);
  await pause(lengthMs * FAULT_FOR);
  await rig.end();
  all.push(...(await loading));
  memoryMiB.push(residentMiB(workerd));
  const line = `minute ${minute + 1} of ${MINUTES}: ${fault}, ${memoryMiB.at(-1)!.toFixed(0)} MiB`;
  process.stderr.write(process.stderr.isTTY ? `\r\x1b[K${line}` : `${line}\n`);
}

const keys = await rig.redis.keys("*");
const expiries = await Promise.all(keys.map((key) => rig.redis.pttl(key)));
const forever = expiries.filter((expiry) => expiry === -1).length;
await gateway.stop();
await rig.close();

const [warm, end] = [memoryMiB[WARM_UP - 1]!, memoryMiB.at(-1)!];
const grown = end / warm - 1;
const statuses = statusCounts(all);
const maxMs = percentile(all, 100);
const unexpected = Object.keys(statuses).filter((status) => !["200", "429", "503"].includes(status));
const broken = [
  // The short form ends before everything with a bounded size is full.
  ...(!values.quick && grown > GROWS_AT_MOST ? [`memory has grown by ${(100 * grown).toFixed(1)} %`] : []),
  ...(forever > 0 ? [`${forever} of ${keys.length} keys without expiry`] : []),
  ...(unexpected.length > 0 ? [`answers with status ${unexpected.join(", ")}`] : []),
  ...(maxMs > HANGS_AFTER_MS ? [`an answer after ${maxMs.toFixed(0)} ms`] : []),
  ...(uncaught.length > 0 ? [`${uncaught.length} uncaught: ${uncaught[0]}`] : []),
];
process.stderr.write("\n");
console.log(`${all.length} requests, ${MINUTES} faults: ${JSON.stringify(statuses)}`);
console.log(`99 % within ${percentile(all, 99).toFixed(0)} ms, slowest ${maxMs.toFixed(0)} ms`);
console.log(
  `workerd: ${warm.toFixed(0)} MiB after warm-up, ${end.toFixed(0)} MiB at the end (${(100 * grown).toFixed(1)} %)`,
);
console.log(`Redis: ${keys.length} keys, ${forever} without expiry`);
for (const line of broken) console.error(`broken: ${line}`);
process.exit(broken.length === 0 ? 0 : 1);
