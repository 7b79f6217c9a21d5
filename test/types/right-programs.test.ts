// Programs that the compiler must accept: those below, and every line of TypeScript that a page shows.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { blocksOf, ROOT, read } from "../docs/markdown.ts";
import { messagesAbout } from "../support/compiler.ts";

const LIMITER = `import { createLimiter, type Limiter, memoryStore, type PolicyInput, withRateLimit } from "headgate";
const store = memoryStore();
`;

/** Elsewhere than on Workers. The platforms' functions have the types that their own packages say. */
const ELSEWHERE = `${LIMITER}import { rateLimit } from "headgate/hono";
import { Hono } from "hono";
type Handle<Info> = (request: Request, info: Info) => Response | Promise<Response>;
declare const Deno: { serve(handler: Handle<{ remoteAddr: { hostname: string }; completed: Promise<void> }>): void };
declare const Bun: { serve(options: { fetch: Handle<{ port: number }>; port?: number }): void };

const place = createLimiter({
  policies: [
    { name: "user", key: ["header:x-user+ip", "ip"], count: ["all", "not 304"], limits: [{ limit: 2, window: "1m" }] },
    { name: "site", limits: [{ algorithm: "calendar", limit: 9, window: "day" }, { algorithm: "concurrency", limit: 3 }] },
  ],
  store,
});
// The names of the policies are known, also where any limiter fits.
export const both: [Limiter<"user" | "site">, Limiter] = [place, place];
export const name: Parameters<typeof place.reset>[0] extends "user" | "site" ? true : never = true;
place.take([{ policy: "user", key: "ann" }, { policy: "site" }], { cost: 2 });
both[1].peek("any");

// In a variable texts and numbers are widened. A run checks them.
const policies = [
  { name: "a", key: ["ip"], mode: "shadow", limits: [{ limit: 2, window: "1m" }] },
  { name: "b", match: { path: "/v1/*" }, limits: [{ algorithm: "token-bucket", limit: 2, window: "1m", burst: 3 }] },
];
createLimiter({ policies, store }).take("c", { key: "ann" });
const typed: PolicyInput[] = [{ name: "a", key: "ip", limits: [{ limit: 2, window: "1m" }] }];
createLimiter({ policies: [...typed, ...policies.slice(1)], store });
createLimiter({ policies: [1, 2].map((n) => ({ name: \`p-\${n}\`, limits: [{ limit: n, window: \`\${n}m\` }] })), store });

export const made = (user: string, limit: number) =>
  createLimiter({ policies: [{ name: \`p-\${limit}\`, key: \`\${user}:id\`, limits: [{ limit, window: "1m" }] }], store });
createLimiter({ policies: JSON.parse("[]"), store }).take("a");
const price = { input: 1, output: 2, above: { 200000: { input: 2 } } } as const;
createLimiter({
  policies: [{ name: "a", limits: [{ limit: 2, window: "1m" }], plans: { 1: { a: 3 } }, meter: { unit: "usd", prices: { default: price } } }],
  store,
});
// One of two lists.
const lists = {
  strict: [{ name: "a", key: "ip", limits: [{ limit: 2, window: "1m" }] }],
  none: [{ name: "b", mode: "shadow", limits: [{ algorithm: "concurrency", limit: 2 }] }],
} as const;
createLimiter({ policies: lists[both.length > 1 ? "strict" : "none"], store }).take("b");
createLimiter({
  policies: both.length > 1 ? [{ name: "a", limits: [{ limit: 2, window: "1m" }] }] : [{ name: "b", limits: [{ limit: 1, window: "1s" }] }],
  store,
}).take("b");

// Numbers as texts are for variables of a Worker.
// @ts-expect-error
createLimiter({ policies: [{ name: "a", limits: [{ limit: "2", window: "1m" }] }], store });

const limited = withRateLimit(() => new Response(), place, { clientIp: "socket" });
limited.fetch(new Request("http://a.example"));
limited.fetch(new Request("http://a.example"), undefined, { waitUntil(_work: Promise<unknown>): void {} });
export const { fetch: GET } = limited;
Deno.serve(limited.fetch);
Bun.serve(limited);
const reads = withRateLimit((_request, env: { text: string }, ctx) => {
  ctx.waitUntil(Promise.resolve());
  return new Response(env.text);
}, place);
reads.fetch(new Request("http://a.example"), { text: "" });
// @ts-expect-error the handler reads env
reads.fetch(new Request("http://a.example"));

interface Bindings { readonly REGION: string }
const app = new Hono<{ Bindings: Bindings }>();
app.use(rateLimit((env: Bindings) => createLimiter({ policies, store, region: env.REGION })));
app.use(rateLimit<{ Bindings: Bindings }>((env) => createLimiter({ policies, store, region: env.REGION })));
withRateLimit(app, place).fetch(new Request("http://a.example"));
withRateLimit(app.fetch, place).fetch(new Request("http://a.example"));
`;

const WORKERS = `${LIMITER}
interface Env { readonly REGION: string; readonly JOBS: Queue<string> }
const make = ({ REGION }: Env) =>
  createLimiter({ policies: [{ name: "a", limits: [{ limit: 2, window: "1m" }] }], store, region: REGION });
const handler: ExportedHandler<Env, string> = {
  fetch: async (_request, env, ctx) => (ctx.waitUntil(env.JOBS.send("a")), new Response()),
  queue: async (batch) => batch.ackAll(),
};
const limited = withRateLimit(handler, make);
export default limited satisfies ExportedHandler<Env, string>;
export const one: ExportedHandlerFetchHandler<Env> = limited.fetch;
// @ts-expect-error a Worker has env and ctx
limited.fetch(new Request("http://a.example"));
withRateLimit(() => new Response(), createLimiter({ policies: [], store })).fetch(new Request("http://a.example"));
// @ts-expect-error another env
withRateLimit<{ text: string }>((_request, env) => new Response(env.text), make);
`;

/** What stands around a block or a line that is a part of a program. */
const AROUND: readonly (readonly [begins: string, around: string])[] = [
  [
    'import { rateLimit } from "headgate/hono";\n\nconst login',
    `import { createLimiter, storeFromEnv } from "headgate"; import { Hono } from "hono"; const app = new Hono();
const policies = [{ name: "login", limits: [{ limit: 1, window: "1h" }] }];\n`,
  ],
  ["withRateLimit(handler", `${LIMITER}declare const limiter: Limiter; const handler = () => new Response();\n`],
];
/** Lines within a sentence that call what a program has made. */
const LINE = /`((?:export const \w+ = .*\blimited|(?:await )?limiter|Bun\.serve|Deno\.serve)\b[^`]*\([^)`][^`]*)`/g;
const LINE_IN = ELSEWHERE.slice(0, ELSEWHERE.indexOf("const place"))
  .concat("declare const limiter: Limiter;\n")
  .concat("const limited = withRateLimit(() => new Response(), limiter);\n");
/** What blocks import that is not installed here. */
const IMPORTED = {
  "sqlite-store.ts": read("examples/sqlite-store/sqlite-store.ts"),
  "next.d.ts": `declare module "next/server" {
    export class NextRequest extends Request {}
    export interface NextFetchEvent { waitUntil(work: Promise<unknown>): void }
    export class NextResponse extends Response { static next(): NextResponse }
  }`,
};

it("compile: these, every block of TypeScript of the pages, and every line of it within a sentence", async () => {
  const isPage = (name: string) => name.endsWith(".md") && !/^api[./]/.test(name);
  const docs = readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" }).filter(isPage);
  const pages = ["README.md", "examples/next/README.md", ...docs.map((name) => `docs/${name}`)];
  const programs = { node: { ...IMPORTED, "elsewhere.ts": ELSEWHERE }, workers: { "worker.ts": WORKERS } };
  let [blocks, lines] = [0, 0];
  for (const page of pages) {
    const file = page.replaceAll(/[/.]/g, "-");
    for (const { text } of blocksOf(page, "ts")) {
      // The method of a class, which test/docs/blocks.test.ts compares with its example.
      if (text.startsWith("async take(")) continue;
      const [, around = ""] = AROUND.find(([begins]) => text.startsWith(begins)) ?? [];
      const platform = /process\.|node:|express|node-server|next\/|sqlite/.test(text) ? "node" : "workers";
      Object.assign(programs[platform], { [`${file}-${++blocks}.ts`]: `${around}${text}\nexport {};\n` });
    }
    for (const [, line = ""] of read(page).matchAll(LINE)) {
      Object.assign(programs.node, { [`${file}-line-${++lines}.ts`]: `${LINE_IN}${line};\nexport {};\n` });
    }
  }
  expect(Math.min(blocks - 40, lines - 5)).toBeGreaterThan(0);
  for (const platform of ["node", "workers"] as const) {
    const messages = await messagesAbout(programs[platform], platform);
    const wrong = Object.entries(messages).filter(([name]) => name in programs[platform]);
    expect(wrong).toEqual([]);
  }
});
