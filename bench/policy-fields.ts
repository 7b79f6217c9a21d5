/**
 * What a field of a policy costs a request, in µs of CPU: the gateway in workerd with the same policy without the
 * field, and with it, in turns. Counts are in memory.
 *
 *   npm run bench:fields [-- --quick]
 */

import { parseArgs } from "node:util";
import { compare, type Sent, type Side } from "./support/pair.ts";
import { markdownTable } from "./support/show.ts";
import { bundleWorker } from "./support/workerd.ts";

const { quick } = parseArgs({ options: { quick: { type: "boolean", default: false } } }).values;
const TURNS = quick ? { counted: 6, warmUp: 4, times: 200 } : { counted: 30, warmUp: 10, times: 500 };

const EMAIL = "Ann@example.com";
const GET: Sent = {
  path: "/v1/search?q=1",
  headers: { "CF-Connecting-IP": "198.51.100.1", "X-Forwarded-For": "198.51.100.1, 10.0.0.7", "X-User": EMAIL },
  status: 200,
};
const post = (body: string, type = "application/json"): Sent => ({
  ...GET,
  ...{ method: "POST", body, headers: { ...GET.headers, "Content-Type": type } },
});
const LOGIN = post(JSON.stringify({ email: EMAIL, password: "correct horse" }));
const FORM = post(`email=${encodeURIComponent(EMAIL)}&password=x`, "application/x-www-form-urlencoded");
const LONG = post(JSON.stringify({ email: EMAIL, text: "four words to read. ".repeat(800) }));
const byHeader = { key: ["header:x-user"] };
const byBody = { key: ["body:email"] };

const ALERTS = { ALERT_URL: "https://hooks.example.com/", ALERT_SECRET: "a secret of thirty-two characters" };
const CLIENT_IP = { header: "x-forwarded-for", trust: ["private"] };
type Setup = Partial<Side>;

/** A title, the policy without the field and with it, the request, and what else the second gateway has. */
const CASES: readonly (readonly [title: string, before: object, after: object, request: Sent, more?: Setup])[] = [
  ["nothing: the same policy twice", byHeader, byHeader, LOGIN],
  ["`body:email` for `header:x-user`, 60 bytes of JSON", byHeader, byBody, LOGIN],
  ["`body:email` for `ip`, 60 bytes of JSON", { key: ["ip"] }, byBody, LOGIN],
  ["`body:email` for `header:x-user`, a form", byHeader, byBody, FORM],
  ["`body:email` for `header:x-user`, 16 KiB of JSON", byHeader, byBody, LONG],
  ["`fold` beside `body:email`", byBody, { ...byBody, fold: true }, LOGIN],
  ["`fold` beside `header:x-user`", byHeader, { ...byHeader, fold: true }, GET],
  ["`match.body` beside `ip`", {}, { match: { body: { email: "*@example.com" } } }, LOGIN],
  ["`ban`", {}, { ban: { after: 20, within: "10m", for: ["10m", "1h"] } }, GET],
  ["`warn`, far from its parts", {}, { warn: [0.8, 0.95] }, GET, { bindings: ALERTS, stats: true }],
  ["`count` of statuses", {}, { count: ["401", "403", "5xx"] }, GET],
  ["key `ip/64`", {}, { key: ["ip/64"] }, GET],
  ["`CLIENT_IP` with networks", {}, {}, GET, { bindings: { CLIENT_IP } }],
];

const code = await bundleWorker("features.mjs");
const rows: string[][] = [];
for (const [title, before, after, request, more] of CASES) {
  const sideOf = (policy: object, { bindings, ...objects }: Setup = {}): Side => ({
    code,
    bindings: { POLICIES: [{ name: "api", limits: [{ limit: 1_000_000_000, window: "1h" }], ...policy }], ...bindings },
    ...objects,
  });
  const [found] = await compare([sideOf(before), sideOf(after, more)], [request], TURNS);
  const { us, addedUs, ratio } = found!;
  rows.push([title, (us - addedUs).toFixed(1), us.toFixed(1), addedUs.toFixed(1), ratio.toFixed(3)]);
}
console.log(markdownTable(["field", "without, µs", "with, µs", "more, µs", "ratio"], rows));
