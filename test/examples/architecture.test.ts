// Replays docs/architecture.md: the same request through the gateway and the same arguments through the script must
// give what the page shows.

import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createGateway } from "../../src/gateway.ts";
import type { Bindings } from "../../src/kernel/config/settings.ts";
import { TAKE } from "../../src/kernel/store/redis/script.generated.ts";
import { blocksOf, ROOT, read, tableIn } from "../docs/markdown.ts";
import { startGateway } from "../support/gateway/gateway.ts";
import { startOrigin } from "../support/gateway/origin-server.ts";
import { startPrivateRedis } from "../support/redis/private-redis.ts";

const PAGE = "docs/architecture.md";

/** The one block that begins with this text. */
function block(start: string): string {
  const found = blocksOf(PAGE).filter(({ text }) => text.startsWith(start));
  expect(
    found.map(({ text }) => text.split("\n")[0]),
    `blocks of ${PAGE} that begin so: ${start}`,
  ).toHaveLength(1);
  return found[0]!.text;
}

const lines = (text: string) => text.trimEnd().split("\n");
const command = JSON.parse(lines(block("POST /")).slice(1).join("")) as [
  "evalsha",
  string,
  number,
  ...(string | number)[],
];
const keys = command.slice(3, 3 + command[2]) as string[];
const [, ...args] = command.slice(3 + command[2]) as number[];
const firstReply = tableIn(read(PAGE), "Integers").flatMap(({ Integers }) => Integers!.split(", ").map(Number));
const sixthReply = JSON.parse(block("[")) as number[];
const options = [...block("npm start").matchAll(/--var (?:'(\w+):([\s\S]*?)'|(\w+):(\S+))/g)];
const vars = Object.fromEntries(options.map(([, quoted, text, name, word]) => [(quoted ?? name)!, (text ?? word)!]));

it("the script replies and stores what the page shows", async () => {
  const { redis } = await startPrivateRedis();
  const take = (nowMs: number) => redis.eval(TAKE.text, keys.length, ...keys, nowMs, ...args);
  expect(await take(firstReply[0]!)).toEqual(firstReply);

  const [afterOne] = blocksOf("docs/storage-schema.md").filter(({ text }) => /^(?:[\da-f]{4} ){3}/.test(text));
  expect(await redis.getBuffer(keys[0]!)).toEqual(dumped(afterOne!.text));

  for (let i = 2; i <= 5; i++) await take(firstReply[0]!);
  // The id (15,000 ms, 4 buckets, whole), newest, and 5 in the first of 4 buckets and the one before.
  expect(await redis.getBuffer(keys[1]!)).toEqual(dumped("ce01 d4c0 82ce 0722 357d 0500 0000 00"));
  expect(await take(sixthReply[0]!)).toEqual(sixthReply);
});

it("the gateway asks, answers and logs what the page shows", async () => {
  const asked: unknown[] = [];
  const rest = await startOrigin(async (request, response) => {
    asked.push(JSON.parse(await textOf(request)));
    const result = asked.length === 1 ? firstReply : sixthReply;
    response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify({ result }));
  });
  const forwarded: string[] = [];
  const origin = await startOrigin(async (request, response) => {
    forwarded.push(`${request.method} ${request.url} ${await textOf(request)}`);
    response.writeHead(200, { "Content-Length": "14" }).end("Welcome, ann.\n");
  });
  const { POLICIES, ORIGIN_URL, ...others } = vars;
  const gateway = await startGateway({
    policies: JSON.parse(POLICIES!),
    vars: { ...others, ORIGIN_URL: `${origin.url}${new URL(ORIGIN_URL!).pathname}` },
    redis: { url: rest.url, token: "token" },
  });
  const ask = () =>
    gateway.fetch("/order", {
      method: "POST",
      body: "user=ann",
      address: "203.0.113.7",
      headers: { "Accept-Encoding": "identity" },
    });

  await expectAnswer(await ask(), lines(block("$ curl")).slice(1));
  expect(asked).toEqual([command.map((part) => (part === "<sha1>" ? TAKE.sha1 : part))]);
  expect(forwarded).toEqual(["POST /app/order user=ann"]);
  expect(read(PAGE)).toContain("`POST /app/order`");

  await expectAnswer(await ask(), lines(block("HTTP/1.1 429")));
  const logged = JSON.parse(block('{"event":"refused"')) as object;
  const refusals = () =>
    gateway.logs.filter((line) => line.includes('"refused"')).map((line) => JSON.parse(line) as object);
  // A line may come after the answer.
  await expect.poll(refusals, { timeout: 20_000 }).toEqual([{ ...logged, at: expect.stringMatching(/^\d{4}-.*Z$/) }]);
  expect(Object.keys(refusals()[0]!)).toEqual(Object.keys(logged));
});

/** The file that the page means: its paths begin in src/kernel, or else in src. */
const fileOf = (path: string) =>
  [`src/kernel/${path}`, `src/${path}`, path].find((one) => existsSync(join(ROOT, one))) ?? `no file: ${path}`;
const filesIn = (text: string) => [...text.matchAll(/`([\w/-]+\.(?:tsx?|lua))`/g)].map(([, path]) => fileOf(path!));

/** The files that the numbered steps of a section name. */
function stepsOf(heading: string): string[] {
  const section = read(PAGE)
    .split(/^## /m)
    .find((one) => one.startsWith(`${heading}\n`))!;
  // A step goes on in lines that are indented.
  const steps = section.match(/^\d+\. .*(?:\n {2,}.*)*/gm) ?? [];
  expect(steps.length).toBeGreaterThan(3);
  return filesIn(steps.join("\n"));
}

/** Sends requests, one after another. Returns their statuses, and the files of src/ with a function that they call. */
async function record(asks: readonly (() => Promise<Response>)[]): Promise<{ statuses: number[]; called: string[] }> {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  const statuses: number[] = [];
  for (const ask of asks) {
    const answer = await ask();
    statuses.push(answer.status);
    await answer.arrayBuffer();
    for (const one of work) await one;
  }
  const { result } = await session.post("Profiler.takePreciseCoverage");
  session.disconnect();
  const called = result.flatMap(({ url, functions }) => {
    const [path] = /src\/.+\.tsx?$/.exec(url) ?? [];
    return path && functions.some(({ ranges: [range] }) => range!.count > 0) ? [path] : [];
  });
  return { statuses, called };
}

/** What goes on after an answer, which may begin more of it. */
const work: Promise<unknown>[] = [];

function askFor(bindings: Bindings, url: string, init?: RequestInit): () => Promise<Response> {
  const context = { waitUntil: (one: Promise<unknown>) => work.push(one), passThroughOnException() {}, props: {} };
  const gateway = createGateway(bindings);
  return async () => await gateway.fetch(new Request(url, init), {}, context);
}

const addressed = { "CF-Connecting-IP": "203.0.113.7" };

it("an admitted and two refused requests call the files of their steps, and no other that the page does not name", async () => {
  let asked = 0;
  const rest = await startOrigin(async (_, response) => {
    const result = asked++ === 0 ? firstReply : sixthReply;
    response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify({ result }));
  });
  const origin = await startOrigin(async (_, response) => response.end("Welcome, ann.\n"));
  const redis = { UPSTASH_REDIS_REST_URL: rest.url, UPSTASH_REDIS_REST_TOKEN: "token" };
  const bindings = { ...vars, ...redis, POLICIES: JSON.parse(vars.POLICIES!), ORIGIN_URL: origin.url };
  // The sixth request goes to another gateway, as on the page.
  const [first, second] = [bindings, bindings].map((one) =>
    askFor(one, "http://localhost:8787/order", { method: "POST", body: "user=ann", headers: addressed }),
  );

  const { statuses, called } = await record([first!, second!, second!]);

  expect([statuses, asked]).toEqual([[200, 429, 429], 2]);
  const steps = ["A request that Redis admits", "A request that is refused"].flatMap(stepsOf);
  expect(steps.filter((path) => !called.includes(path))).toEqual([]);
  const named = new Set(filesIn(read(PAGE)));
  expect(called.filter((path) => !named.has(path))).toEqual([]);
  expect([...named].filter((path) => path.startsWith("no file"))).toEqual([]);
});

it("the shell makes the client's key that the page shows", () => {
  const shell = `printf %s '2:ip11:203.0.113.7' | openssl dgst -sha256 -hmac ${vars.KEY_SECRET} -binary | head -c 16 | \
    base64 | tr '+/' '-_' | tr -d =`;
  const made = execFileSync("bash", ["-c", shell], { encoding: "utf8" });
  expect(keys[0]).toBe(`hg:2:{order:${made.trim()}}`);
});

/** Checks everything that the page shows of an answer, except the instants of the Worker's clock. */
async function expectAnswer(answer: Response, shown: readonly string[]): Promise<void> {
  const [status = "", ...rest] = shown;
  const end = rest.indexOf("");
  const fields = rest.slice(0, end).map((line) => line.split(/: (.*)/).slice(0, 2) as [string, string]);
  expect(`${answer.status} ${answer.statusText}`).toBe(status.replace("HTTP/1.1 ", ""));
  for (const [name, value] of fields.filter(([field]) => !/^Date$|-Reset$/.test(field))) {
    expect([name, answer.headers.get(name)]).toEqual([name, value]);
  }
  expect((await answer.text()).trimEnd()).toBe(rest.slice(end + 1).join("\n"));
}

async function textOf(stream: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** The bytes in a dump of `xxd`, without the offsets. */
function dumped(text: string): Buffer {
  return Buffer.from(
    lines(text)
      .map((line) => line.split("  ")[0]!.replaceAll(" ", ""))
      .join(""),
    "hex",
  );
}
