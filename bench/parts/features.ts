/** Part 5: what each feature costs: bytes of the Worker, and CPU time of requests that use it and of others. */

import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build, type Plugin } from "esbuild";
import { compare, type Sent, type Side, type Turns } from "../support/pair.ts";
import { figure, type Part, type Text, table } from "../support/part.ts";
import { bundleWorker } from "../support/workerd.ts";

/** What a gateway has in addition to POLICIES. */
type Setup = Partial<Omit<Side, "code">>;

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
    rows.push([feature.title, figure(kib), ...unused!, ...used!]);
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

/** @returns for each request the added µs, and the ratio. */
async function measure(code: string, { off, on, unused, used, prepare }: Feature, turns: Turns): Promise<Text[][]> {
  const sideOf = ({ bindings, ...objects }: Setup): Side => {
    return { code, bindings: { POLICIES: policies({}), ...bindings }, ...objects };
  };
  const requests = [unused, used].filter((request) => request !== undefined);
  const measured = off && on ? await compare([sideOf(off), sideOf(on)], requests, turns, prepare) : [];
  return [unused, used].map((request): Text[] => {
    const { addedUs, ratio } = measured[requests.indexOf(request!)] ?? { addedUs: Number.NaN, ratio: Number.NaN };
    return [figure(addedUs), figure(ratio)];
  });
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
