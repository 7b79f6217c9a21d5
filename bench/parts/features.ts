/** Part 5: what each feature costs: CPU time of requests that use it and of others. */

import { compare, type Sent, type Side, type Turns } from "../support/pair.ts";
import { figure, type Part, type Text, table } from "../support/part.ts";
import { bundleWorker } from "../support/workerd.ts";

/** What a gateway has in addition to POLICIES. */
type Setup = Partial<Omit<Side, "code">>;

interface Feature {
  readonly title: string;
  readonly off: Setup;
  readonly on: Setup;
  /** A request that does not use the feature, and one that does. */
  readonly unused: Sent;
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
    off: { bindings: ADMIN },
    on: { bindings: ADMIN, stats: true },
    unused: UNMATCHED,
    used: ADMITTED,
  },
  {
    title: `live document, ${OVERRIDES} overrides`,
    off: {},
    on: { bindings: { ADMIN_TOKEN: TOKEN } },
    unused: ADMITTED,
    used: { ...ADMITTED, headers: KNOWN },
    prepare: fillLive,
  },
  {
    title: "meter for language models",
    off: {},
    on: { bindings: { POLICIES: policies({ meter: { unit: "tokens" } }) } },
    unused: ADMITTED,
    used: CHAT,
  },
  {
    title: "counts in a Durable Object, not in memory",
    off: {},
    on: { counts: true },
    unused: UNMATCHED,
    used: ADMITTED,
  },
  {
    title: "explain tokens",
    off: { bindings: ADMIN },
    on: { bindings: { ...ADMIN, EXPLAIN: "on" } },
    unused: ADMITTED,
    used: REFUSED,
  },
  {
    title: "admin API and console",
    off: {},
    on: { bindings: ADMIN },
    unused: ADMITTED,
  },
  {
    title: "`RECORD`: lines for replay",
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
  for (const feature of FEATURES) {
    progress(feature.title);
    rows.push([feature.title, ...(await measure(code, feature, turns))]);
  }
  const head = ["", "µs, not used", "ratio, not used", "µs, used", "ratio, used"];
  return { blocks: [table(head, rows)], targets: [], charts: {}, figures: {} };
};

/** @returns the added µs and the ratio of each request. */
async function measure(code: string, { off, on, unused, used, prepare }: Feature, turns: Turns): Promise<Text[]> {
  const sideOf = ({ bindings, ...objects }: Setup): Side => {
    return { code, bindings: { POLICIES: policies({}), ...bindings }, ...objects };
  };
  const requests = used ? [unused, used] : [unused];
  const measured = await compare([sideOf(off), sideOf(on)], requests, turns, prepare);
  return [0, 1].flatMap((i) => {
    const { addedUs, ratio } = measured[i] ?? { addedUs: Number.NaN, ratio: Number.NaN };
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
