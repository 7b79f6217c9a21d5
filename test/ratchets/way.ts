// What one admitted request enters of src/: the gateway of wrangler.toml as it stands, over a Redis that answers at
// once. Run by ratchet.ts in a process of its own. Prints JSON.
//
// Node strips types to spaces, so the offsets of V8's block coverage are those of the sources. Blocks are known only of
// what was compiled after the coverage began: the sources are imported late, and the compile cache must be off.

import { readFileSync } from "node:fs";
import { type Profiler, Session } from "node:inspector/promises";
import { parse } from "smol-toml";

/** A file of src/ on the way of the request. */
export interface Entered {
  readonly file: string;
  readonly functions: number;
  readonly calls: number;
  /** The branches that the request passed and did not take, as `line: code`. */
  readonly untaken: readonly string[];
}

const ROOT = new URL("../../", import.meta.url);
const SRC = new URL("src/", ROOT).href;
/** Any instant will do, in the middle of a bucket. */
const NOW_MS = 1_800_000_030_000;
Date.now = () => NOW_MS;

/** The reply of lua/take.lua to a client that has sent three requests. Its header says what the integers mean. */
globalThis.fetch = async (_url, init) => {
  const id = JSON.parse(String(init?.body)).at(-1);
  return Response.json({ result: [NOW_MS, id, Math.floor(NOW_MS / 60_000), 3, 0] });
};

const session = new Session();
session.connect();
await session.post("Profiler.enable");
await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
const { createGateway } = await import("../../src/gateway.ts");

const { vars } = parse(readFileSync(new URL("wrangler.toml", ROOT), "utf8")) as { vars: object };
console.warn = () => {};
const gateway = createGateway({
  ...vars,
  UPSTASH_REDIS_REST_URL: "https://redis.example.com",
  UPSTASH_REDIS_REST_TOKEN: "token",
});

async function send(): Promise<Response> {
  const request = new Request("https://api.example.com/", { headers: { "CF-Connecting-IP": "203.0.113.7" } });
  const response = await gateway.fetch(request, {}, { waitUntil() {}, passThroughOnException() {}, props: {} });
  await response.text();
  // What goes on after the answer belongs to the request, too.
  await new Promise(setImmediate);
  return response;
}

// What is made once is made now.
for (let i = 0; i < 3; i++) await send();
await session.post("Profiler.takePreciseCoverage");
const { status, headers } = await send();
const { result } = await session.post("Profiler.takePreciseCoverage");
// Without the store's answer the isolate would count by itself, and admit too.
const remaining = headers.get("X-RateLimit-Remaining");
if (status !== 200 || remaining !== "57") {
  throw new Error(`expected 200 and 57 remaining by the store's reply, found ${status} and ${remaining}`);
}
console.log(JSON.stringify(result.flatMap(entered)));

function entered({ url, functions }: Profiler.ScriptCoverage): Entered[] {
  // The first range is the whole function.
  const called = functions.filter(({ ranges }) => ranges[0]!.count > 0);
  if (!url.startsWith(SRC) || called.length === 0) return [];
  const text = readFileSync(new URL(url), "utf8");
  const untaken = called
    .flatMap(({ ranges }) => ranges.filter(({ count }) => count === 0))
    .map(({ startOffset, endOffset }) => {
      const code = text.slice(startOffset, endOffset);
      const line = text.slice(0, startOffset + code.search(/\S/)).split("\n").length;
      return `${line}: ${code.trim().replace(/\s+/g, " ").slice(0, 100)}`;
    });
  const calls = called.reduce((sum, { ranges }) => sum + ranges[0]!.count, 0);
  return [{ file: `src/${url.slice(SRC.length)}`, functions: called.length, calls, untaken }];
}
