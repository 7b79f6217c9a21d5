// Reads the programs of docs/migrate out of the Markdown and runs them unchanged.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { inject, vi } from "vitest";
import { folderWith } from "../support/folder.ts";
import { startOrigin } from "../support/gateway/origin-server.ts";
import { bundled, ON_NODE, serverOf } from "../support/programs.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Sends one request with these headers. */
export type Send = (headers?: Record<string, string>) => Promise<Response>;

/** The text of a file in the repository. */
export const readText = (path: string) => readFileSync(join(ROOT, path), "utf8");

/** The code blocks by the heading above them and their language, for example `After ts`. */
export function blocksOf(guide: string): Map<string, string> {
  const blocks = new Map<string, string>();
  for (const section of readText(`docs/migrate/${guide}.md`).split(/^## /m).slice(1)) {
    const heading = section.slice(0, section.indexOf("\n"));
    for (const [, language, code] of section.matchAll(/^```(\w+)\n(.*?)^```$/gms)) {
      const name = `${heading} ${language}`;
      if (blocks.has(name)) throw new Error(`${guide}: two blocks of ${name}`);
      blocks.set(name, code!);
    }
  }
  return blocks;
}

/** The names in backticks in the first cells of the tables under these headings. */
export function namesInTables(guide: string, ...headings: string[]): string[] {
  const sections = readText(`docs/migrate/${guide}.md`).split(/^## /m);
  const chosen = sections.filter((section) => headings.includes(section.slice(0, section.indexOf("\n"))));
  const cells = chosen.flatMap((section) => [...section.matchAll(/^\| (.*?) \|/gm)].map(([, cell]) => cell!));
  return cells.flatMap((cell) => [...cell.matchAll(/`(\w+)/g)].map(([, name]) => name!));
}

/** The members of the type that begins with `start` in a declaration file: lines `name:` or `name(`. */
export function membersOf(declarations: string, start: string, indent: string): string[] {
  const at = declarations.indexOf(start);
  if (at < 0) throw new Error(`expected ${start} in the declarations`);
  const body = declarations.slice(at, declarations.indexOf("\n}", at));
  return [...body.matchAll(new RegExp(`^${indent}(?:readonly )?(\\w+)\\??[:(]`, "gm"))].map(([, name]) => name!);
}

/** The program as one JavaScript file, in a folder that is removed after the test. */
const fileOf = async (code: string) => join(folderWith({ "program.mjs": await bundled(code, ON_NODE) }), "program.mjs");

/** Bindings that name the Redis of the tests, with a timeout for a busy machine. */
export async function redisBindings() {
  const url = await withoutKeyLocking();
  return { UPSTASH_REDIS_REST_URL: url, UPSTASH_REDIS_REST_TOKEN: inject("restToken"), REDIS_TIMEOUT_MS: "10000" };
}

/** The bridge, without the first line of `@upstash/ratelimit`'s scripts: Redis 7.0 refuses the flag in that line. */
async function withoutKeyLocking(): Promise<string> {
  const proxy = await startOrigin(async (request, response) => {
    const body = await new Response(request as unknown as BodyInit).text();
    const { authorization = "", "upstash-encoding": encoding = "" } = request.headers;
    const answer = await fetch(`${inject("restUrl")}${request.url}`, {
      method: "POST",
      headers: { Authorization: authorization, "Upstash-Encoding": String(encoding) },
      body: body.replace("#!lua flags=allow-key-locking\\n", ""),
    });
    response.writeHead(answer.status, { "Content-Type": "application/json" }).end(await answer.text());
  });
  return proxy.url;
}

/** Starts a program whose default export is a Worker or a Hono app. */
export async function startWorker(code: string): Promise<Send> {
  const env = await redisBindings();
  const file = await fileOf(code);
  const program = await onWorkers(
    async () =>
      (await import(pathToFileURL(file).href)) as { default: { fetch(...args: unknown[]): Promise<Response> } },
  );
  const ctx = { waitUntil() {}, passThroughOnException() {} };
  return (headers = {}) =>
    onWorkers(() => program.default.fetch(new Request("https://app.example/", { headers }), env, ctx));
}

/** On Workers, the edge says who the client is. A limiter may be made with the first request. */
async function onWorkers<T>(run: () => Promise<T>): Promise<T> {
  vi.stubGlobal("navigator", { userAgent: "Cloudflare-Workers" });
  try {
    return await run();
  } finally {
    vi.unstubAllGlobals();
  }
}

/** Starts a program that listens on `PORT` and prints that it does. @returns its address. */
export async function startServer(code: string): Promise<string> {
  const env = { REDIS_URL: inject("redisUrl"), NODE_ENV: "production", ...(await redisBindings()) };
  return `http://${await serverOf(await fileOf(code), env)}`;
}

export function sendTo(url: string): Send {
  return (headers = {}) => fetch(url, { headers });
}

const HOUR_MS = 3_600_000;

/** Every program allows 5 requests an hour. If the hour is about to end, waits for the next hour. */
export async function withinOneHour(): Promise<void> {
  await vi.waitUntil(() => HOUR_MS - (Date.now() % HOUR_MS) > 20_000, { timeout: 30_000, interval: 100 });
}

/** Sends seven requests of one client, one after another. */
export async function sendSeven(send: Send, headers: Record<string, string>): Promise<Response[]> {
  const answers: Response[] = [];
  for (let i = 0; i < 7; i++) {
    const answer = await send(headers);
    await answer.arrayBuffer();
    answers.push(answer);
  }
  return answers;
}
