// EVALSHA, EVAL and the two variants of the script, against a server whose replies the test chooses.

import { json } from "node:stream/consumers";
import { expect, it, vi } from "vitest";
import { RedisError } from "../../src/kernel/store/redis/client.ts";
import { restClient } from "../../src/kernel/store/redis/rest.ts";
import { scriptRunner } from "../../src/kernel/store/redis/script.ts";
import { startOrigin } from "../support/gateway/origin-server.ts";

const variants = {
  plain: { text: "plain text", sha1: "plain sha" },
  keyLocking: { text: "locking text", sha1: "locking sha" },
};
const NOSCRIPT = { error: "NOSCRIPT No matching script." };
const UNEXPECTED_FLAG = { error: "ERR Unexpected flag in script shebang: allow-key-locking" };

/** A server that gives these replies, one after another, and records its commands. */
async function serverThatSays(...replies: object[]) {
  const asked: unknown[][] = [];
  const { url } = await startOrigin(async (request, response) => {
    asked.push((await json(request)) as unknown[]);
    const reply = replies.shift() ?? {};
    response.writeHead("error" in reply ? 400 : 200).end(JSON.stringify(reply));
  });
  return { url, asked };
}

const runnerAt = (url: string) => scriptRunner(restClient({ url, token: "t", timeoutMs: 30_000 }), variants);

it("runs a known script with one call, keys and arguments as they are", async () => {
  const { url, asked } = await serverThatSays({ result: [1, 2] });
  expect(await runnerAt(url)(["a", "b"], [5, 9_007_199_254_740_991])).toEqual([1, 2]);
  expect(asked).toEqual([["evalsha", "plain sha", 2, "a", "b", 5, 9_007_199_254_740_991]]);
});

it.each([
  ["of EVALSHA", [{ error: "READONLY no" }]],
  ["of EVAL", [NOSCRIPT, { error: "READONLY no" }]],
  ["that it does not know it even then", [NOSCRIPT, NOSCRIPT]],
  ["of a flag that the plain variant has not", [UNEXPECTED_FLAG]],
])("asks no more after a refusal %s", async (_what, replies) => {
  const { url, asked } = await serverThatSays(...replies);
  await expect(runnerAt(url)([], [])).rejects.toThrow(RedisError);
  expect(asked).toHaveLength(replies.length);
});

/** The commands of two runs, by name and script, with a service at this URL that gives these replies. */
async function sentTo(url: string, ...replies: object[]) {
  const sent: string[] = [];
  vi.stubGlobal("fetch", async (_url: string, { body }: { body: string }) => {
    sent.push(JSON.parse(body).slice(0, 2).join(" "));
    const reply = replies.shift() ?? { result: 1 };
    return Response.json(reply, { status: "error" in reply ? 400 : 200 });
  });
  const run = runnerAt(url);
  for (let i = 0; i < 2; i++) expect(await run([], [])).toBe(1);
  return sent;
}

it.each([
  ["https://eu1-good-cat-1.upstash.io", "locking sha"],
  ["https://upstash.io", "locking sha"],
  ["https://upstash.io.example.com", "plain sha"],
  ["https://notupstash.io", "plain sha"],
  ["https://example.com/upstash.io", "plain sha"],
])("sends %s the %s", async (url, sha1) => {
  expect(await sentTo(url)).toEqual([`evalsha ${sha1}`, `evalsha ${sha1}`]);
});

it("falls back once to the plain variant where Upstash refuses the other, which has not run then", async () => {
  const sent = await sentTo("https://x.upstash.io", NOSCRIPT, UNEXPECTED_FLAG, NOSCRIPT);
  expect(sent).toEqual([
    ...["evalsha locking sha", "eval locking text", "evalsha plain sha", "eval plain text"],
    "evalsha plain sha",
  ]);
});
