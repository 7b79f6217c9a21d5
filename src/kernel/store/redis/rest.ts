/** One Redis over Upstash's REST protocol: each command is one `POST` of a JSON array. */

import { inBackground, setIdleTimeout } from "../../sleep.ts";
import { OutOfTime, withinBudget } from "../../time-budget.ts";
import { type Commands, firstWord, type RedisClient, type RedisError, redisErrorOf } from "./client.ts";

type Command = readonly (string | number)[];

/** What Redis, or the service in front of it, has replied in place of a result. */
export class RefusedCommand extends Error {}

/**
 * On Upstash a script without `flags=allow-key-locking` locks the whole database. A host name under upstash.io gets the
 * variant with the flag.
 *
 * @param url the base URL of the REST service, `https://…` or `http://…`. @param token its bearer token.
 * @param timeoutMs the time budget of one call in milliseconds, connection included. Time in which this isolate is too
 * busy to read an answer hardly counts (time-budget.ts).
 */
export function restClient({ url, token, timeoutMs }: { url: string; token: string; timeoutMs: number }): RedisClient {
  const address = url.replace(/\/$/, "");
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };

  /** Sends a command once: what is sent again may be charged twice. */
  async function send(command: Command, signal: AbortSignal): Promise<unknown> {
    const response = await fetch(address, { method: "POST", headers, body: JSON.stringify(command), signal });
    const body = (await response.json()) as { readonly result?: unknown; readonly error?: unknown } | null;
    if (response.ok && body?.result !== undefined && !body.error) return body.result;
    if (body && (body.error || !response.ok)) throw new RefusedCommand(String(body.error));
    throw new SyntaxError("expected a result or an error");
  }

  async function run<T>(
    work: (redis: Commands) => Promise<T>,
    budgetMs = timeoutMs,
    requests = new AbortController(),
    set?: typeof setIdleTimeout,
  ): Promise<T> {
    try {
      const redis = commandsBy((...command) => send(command, requests.signal));
      return await withinBudget(work(redis), { budgetMs, timeoutMs, set, abort: () => requests.abort() });
    } catch (error) {
      if (error instanceof OutOfTime) giveUpAtEnd(requests, error.late.answer);
      throw redisErrorOf(error, replyOf, codeOf);
    }
  }

  return {
    isUpstash: /(^|\.)upstash\.io$/.test(new URL(url).hostname),
    run,
    runIdle(work, budgetMs) {
      const requests = new AbortController();
      const idly: typeof work = (redis) => {
        const call = work(redis);
        giveUpAtEnd(requests, call);
        return call;
      };
      return run(idly, budgetMs, requests, setIdleTimeout);
    },
    replyOf,
  };
}

/** Requests whose answers are only learned from. */
const late = new Set<AbortController>();
/** How often to look whether they alone keep the process alive, in ms. */
const LOOK_EVERY_MS = 50;
let looking: ReturnType<typeof setInterval> | undefined;

/** What keeps the process alive. Undefined: the platform does not say. In workerd the function is there, and throws. */
function activeResources(): readonly string[] | undefined {
  const { process } = globalThis as { readonly process?: { getActiveResourcesInfo?(): readonly string[] } };
  try {
    return process?.getActiveResourcesInfo?.();
  } catch {
    return undefined;
  }
}

/**
 * On Node a request keeps its process alive, and cannot be told not to. One that no caller waits for any more is given
 * up when nothing else does. What may be a pipe to the program itself is not counted: at worst, an answer is not heard.
 */
function giveUpAtEnd(requests: AbortController, answer: Promise<unknown>): void {
  if (activeResources() === undefined) return;
  late.add(requests);
  looking ??= inBackground(
    setInterval(() => {
      const others = activeResources()!.filter((name) => !/^(Pipe|TTY)Wrap$/.test(name));
      const isAlone = others.every((name) => name === "TCPSocketWrap") && others.length <= late.size;
      // Where the platform does not say what is open, nothing is known.
      if (isAlone && others.length > 0) for (const one of late) one.abort();
    }, LOOK_EVERY_MS),
  );
  const end = () => {
    late.delete(requests);
    if (late.size > 0 || looking === undefined) return;
    clearInterval(looking);
    looking = undefined;
  };
  answer.then(end, end);
}

function commandsBy(send: (...command: Command) => Promise<unknown>): Commands {
  return {
    evalsha: (sha1, keys, args) => send("evalsha", sha1, keys.length, ...keys, ...args),
    eval: (text, keys, args) => send("eval", text, keys.length, ...keys, ...args),
    del: (...keys) => send("del", ...keys),
    ping: () => send("ping"),
    info: (section) => send("info", section),
  };
}

function codeOf(error: unknown): RedisError["code"] {
  // The answer is no JSON, or has no result.
  if (error instanceof SyntaxError) return "MALFORMED_REPLY";
  // Cloudflare's error for a request that has made all the calls it may make. This call was not sent.
  return error instanceof Error && /^too many subrequests/i.test(error.message) ? "SUBREQUESTS" : "NETWORK";
}

/** `ERR`: an error reply without a first word. */
export function replyOf(error: unknown): string | undefined {
  return error instanceof RefusedCommand ? (firstWord(error.message) ?? "ERR") : undefined;
}
