/** Part 5: what each feature costs: bytes of the Worker, and CPU time of requests that use it and of others. */

import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build, type Plugin } from "esbuild";
import { startWorkerd as start } from "../../test/support/gateway/workerd.ts";
import { figure, type Part, type Text, table } from "../support/part.ts";
import { median } from "../support/stats.ts";
import { bundleWorker, cpuMs } from "../support/workerd.ts";

interface Sent {
  readonly path: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly status: number;
}

/** What a gateway has in addition to POLICIES. */
interface Setup {
  readonly bindings?: Readonly<Record<string, unknown>>;
  readonly counts?: true;
  readonly stats?: true;
}

interface Feature {
  readonly title: string;
  /** Which paths below src/ are the feature. */
  readonly files?: RegExp;
  readonly off?: Setup;
  readonly on?: Setup;
  /** A request that does not use the feature, and one that does. */
  readonly unused?: Sent;
  readonly used?: Sent;
  /** Runs before the measurement on the gateway with the feature. */
  readonly prepare?: (url: string) => Promise<void>;
}

const TOKEN = "a-token-of-32-characters-or-more";
const CLIENT = { "CF-Connecting-IP": "198.51.100.1" };
/** The client of an override. */
const KNOWN = { "CF-Connecting-IP": "198.51.100.2" };
const OVERRIDES = 1_000;

const UNMATCHED: Sent = { path: "/none", headers: CLIENT, status: 200 };
const ADMITTED: Sent = { path: "/v1/search?q=1", headers: CLIENT, status: 200 };
const REFUSED: Sent = { path: "/few", headers: CLIENT, status: 429 };
const CHAT: Sent = {
  path: "/chat/completions",
  method: "POST",
  headers: { ...CLIENT, "Content-Type": "application/json" },
  body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "four words to read. ".repeat(50) }] }),
  status: 200,
};

const window = (limit: number) => [{ limit, window: "1d" }];
const policies = (chat: object) => [
  { name: "api", match: { path: "/v1/*" }, limits: window(10_000_000) },
  { name: "few", match: { path: "/few" }, limits: window(1) },
  { name: "chat", match: { path: "/chat/*" }, limits: window(10_000_000), ...chat },
];
/** An admin API without the live document: what metrics and explain tokens need. */
const ADMIN = { ADMIN_TOKEN: TOKEN, LIVE_REFRESH: "0s" };

const FEATURES: readonly Feature[] = [
  { title: "nothing: the same gateway twice", off: {}, on: {}, unused: UNMATCHED, used: ADMITTED },
  {
    title: "metrics: counting decisions",
    files: /^(stats\/|config\/stats|http\/admin\/stats)/,
    off: { bindings: ADMIN },
    on: { bindings: ADMIN, stats: true },
    unused: UNMATCHED,
    used: ADMITTED,
  },
  {
    title: `live document, ${OVERRIDES} overrides`,
    files: /^(limiter\/live\/|store\/live\.|http\/admin\/(live|overrides)\.)/,
    off: {},
    on: { bindings: { ADMIN_TOKEN: TOKEN } },
    unused: ADMITTED,
    used: { ...ADMITTED, headers: KNOWN },
    prepare: fillLive,
  },
  {
    title: "meter for language models",
    files: /^(llm\/|http\/meter\/|limiter\/reserve\/|config\/meter)/,
    off: {},
    on: { bindings: { POLICIES: policies({ meter: { unit: "tokens" } }) } },
    unused: ADMITTED,
    used: CHAT,
  },
  {
    title: "counts in a Durable Object, not in memory",
    files: /^(store\/(durable-object|object-|log-chunks|value-text)|limiter\/stores\/durable-object|config\/counts)/,
    off: {},
    on: { counts: true },
    unused: UNMATCHED,
    used: ADMITTED,
  },
  {
    title: "explain tokens",
    files: /^http\/(admin\/)?explain/,
    off: { bindings: ADMIN },
    on: { bindings: { ...ADMIN, EXPLAIN: "on" } },
    unused: ADMITTED,
    used: REFUSED,
  },
  {
    title: "admin API and console",
    files: /^http\/(admin\/|console)/,
    off: {},
    on: { bindings: ADMIN },
    unused: ADMITTED,
  },
  { title: "limits page", files: /^http\/limits\// },
  {
    title: "`RECORD`: lines for replay",
    files: /(^|\/)record(er|ing)?(\/|\.ts$)/,
    off: {},
    on: { bindings: { RECORD: "on" } },
    unused: UNMATCHED,
    used: ADMITTED,
  },
];

export const features: Part = async ({ quick, progress }) => {
  const turns = quick ? { counted: 4, warmUp: 2, times: 100 } : { counted: 12, warmUp: 5, times: 300 };
  const code = await bundleWorker("features.mjs");
  const rows: Text[][] = [];
  const figures: Record<string, number> = {};
  for (const feature of FEATURES) {
    progress(feature.title);
    const kib = feature.files ? (await addedBytes(feature.files)) / 1024 : 0;
    const [unused, used] = await measure(code, feature, turns);
    rows.push([feature.title, figure(kib), ...unused, ...used]);
    figures[`KiB ${feature.title}`] = kib;
  }
  const head = ["", "KiB gzip", "µs, not used", "ratio, not used", "µs, used", "ratio, used"];
  return { blocks: [table(head, rows)], targets: [], charts: {}, figures };
};

const SRC = fileURLToPath(new URL("../../src/", import.meta.url));

/** Replaces files with empty ones. CommonJS: nothing is missing when another file imports from it. */
function without(files: RegExp, found: Set<string>): Plugin {
  return {
    name: "without",
    setup({ onLoad }) {
      onLoad({ filter: /\.tsx?$/ }, ({ path }) => {
        if (!path.startsWith(SRC) || !files.test(path.slice(SRC.length))) return undefined;
        found.add(path);
        return { contents: "module.exports = {};", loader: "js" };
      });
    },
  };
}

async function bundled(plugins: Plugin[]): Promise<number> {
  const { outputFiles } = await build({
    entryPoints: [`${SRC}worker.ts`],
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2024",
    external: ["cloudflare:*"],
    plugins,
    write: false,
    logLevel: "error",
  });
  return gzipSync(outputFiles[0]!.contents).length;
}

let whole: Promise<number> | undefined;

/**
 * The size of the Worker, minified and gzipped, less that of the Worker without these files of src/, and without what
 * only they import. NaN: there is no such file.
 */
async function addedBytes(files: RegExp): Promise<number> {
  whole ??= bundled([]);
  const found = new Set<string>();
  const rest = await bundled([without(files, found)]);
  return found.size === 0 ? Number.NaN : (await whole) - rest;
}

/** @returns for each request the added µs, and the ratio: medians over the turns. */
async function measure(
  code: string,
  { off, on, unused, used, prepare }: Feature,
  turns: { readonly counted: number; readonly warmUp: number; readonly times: number },
): Promise<[unused: Text[], used: Text[]]> {
  const requests = [unused, used];
  const us = requests.map(() => ({ off: [] as number[], on: [] as number[] }));
  if (off && on) {
    const sides = await Promise.all(
      (
        [
          ["off", off],
          ["on", on],
        ] as const
      ).map(async ([side, { bindings, ...objects }]) => {
        const all = { POLICIES: policies({}), ...bindings };
        return { side, ...(await start([{ name: "main", code, bindings: all, ...objects }])) };
      }),
    );
    try {
      await prepare?.(`http://127.0.0.1:${sides[1]!.port}`);
      for (let turn = -turns.warmUp; turn < turns.counted; turn++) {
        for (const [r, request] of requests.entries()) {
          if (!request) continue;
          // Each is first in half of the turns.
          for (const { side, port, pid } of turn % 2 === 0 ? sides : sides.toReversed()) {
            const before = cpuMs(pid) ?? Number.NaN;
            await send(port, request, turns.times);
            const after = cpuMs(pid) ?? Number.NaN;
            if (turn >= 0) us[r]![side].push((1_000 * (after - before)) / turns.times);
          }
        }
      }
    } finally {
      for (const { stop } of sides) await stop();
    }
  }
  const [first, second] = us.map((one): Text[] => [
    figure(median(one.on.map((value, i) => value - one.off[i]!))),
    figure(median(one.on.map((value, i) => value / one.off[i]!))),
  ]);
  return [first!, second!];
}

async function send(port: number, { status, ...request }: Sent, times: number): Promise<void> {
  const body = JSON.stringify({ ...request, times });
  const statuses = await (await fetch(`http://127.0.0.1:${port}/bench`, { method: "POST", body })).json();
  const expected = (statuses as Record<string, number>)[status] ?? 0;
  // The first request of a client with one request a day is admitted.
  if (expected < times - 1) throw new Error(`${request.path}: expected ${status}, found ${JSON.stringify(statuses)}`);
}

/** Sets an override of the client that is known, and so many of others. */
async function fillLive(url: string): Promise<void> {
  const call = async (method: string, path: string, body?: object, fields?: object) => {
    const headers = { Authorization: `Bearer ${TOKEN}`, ...fields };
    const answer = await fetch(`${url}/.headgate/admin${path}`, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer;
  };
  await call("PUT", "/overrides/api", { factor: 2 }, { "Headgate-Key": KNOWN["CF-Connecting-IP"] });
  const answer = await call("GET", "/live");
  const document = (await answer.json()) as { overrides: { key: string }[] };
  const [own] = document.overrides;
  const overrides = Array.from({ length: OVERRIDES }, (_, i) =>
    i === 0 ? own : { ...own, key: String(i).padStart(22, "k") },
  );
  await call("PUT", "/live", { policies: {}, overrides }, { "If-Match": answer.headers.get("ETag") });
}
