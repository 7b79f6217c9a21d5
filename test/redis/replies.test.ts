// What Redis and similar servers reply when they cannot run a command. Each reply is recognised by its own text,
// wrapped or not.
//
// The texts are from the sources of Redis 6.0.20, 6.2.14, 7.0.15, 7.4.1 and Dragonfly (2026-08), and from Upstash's
// documentation (2026-11). test/kernel/store/redis-states.test.ts provokes the replies that Redis 7.0 can be made to
// give.

import { describe, expect, it } from "vitest";
import { commandClient } from "../../src/kernel/store/redis/command.ts";
import { RefusedCommand, replyOf } from "../../src/kernel/store/redis/rest.ts";
import { StoreError } from "../../src/kernel/store/store.ts";

const SHA1 = "5332031c6b470dc5a0dd9b4bf2030dea6d65de91";
const READONLY = "READONLY You can't write against a read only replica.";
const OOM = "OOM command not allowed when used memory > 'maxmemory'.";
const MISCONF = "MISCONF Redis is configured to save RDB snapshots, but it is currently not able to persist on disk.";
const AOF = "MISCONF Errors writing to the AOF file: No space left on device";
const NOREPLICAS = "NOREPLICAS Not enough good replicas to write.";
const STALE = "Can not execute the command on a stale replica";

/** The text inside each server's script error. Redis 6 has two forms: they depend on where the error was raised. */
const redis6 = (text: string) => `ERR Error running script (call to f_${SHA1}): @user_script:12: ${text}`;
const redis62 = (text: string) => redis6(`@user_script: 12: -${text} `);
const redis7 = (text: string) => `${text} script: ${SHA1}, on @user_script:12.`;
const dragonfly = (text: string) => `ERR Error running script (call to ${SHA1}): @user_script:12: ${text}`;
const dragonflyBare = (text: string) => `ERR Error running script (call to ${SHA1}): ${text}`;

const asStored = (reply: string) =>
  reply === "UNAUTHORIZED" || reply === "CROSSSLOT" ? new StoreError(reply) : new StoreError("REDIS", reply);
const said = (text: string) => new RefusedCommand(text);

/** A text, and the first word of the reply that the store reports for it. */
type Row = readonly [text: string, reply: string];

/** The store is not well, and nothing has run: the breaker opens, and what was admitted is charged later. */
const NOTHING_RAN: readonly Row[] = [
  ...[READONLY, OOM, MISCONF, AOF, NOREPLICAS].flatMap((text): Row[] => {
    const reply = text.split(" ", 1)[0]!;
    const all = [text, redis62(text), redis7(text), dragonfly(`-${text}`), dragonflyBare(`-${text}`)];
    return all.map((said) => [said, reply]);
  }),
  ["OOM allow-oom flag is not set on the script, can not run it when used memory > 'maxmemory'", "OOM"],
  ["READONLY Can not run script with write flag on readonly replica, can not run it", "READONLY"],
  ["MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", "MASTERDOWN"],
  [redis62(STALE).replace("-Can", "Can"), "MASTERDOWN"],
  [redis7(`ERR ${STALE}`), "MASTERDOWN"],
  [`ERR ${STALE}`, "MASTERDOWN"],
  ["CLUSTERDOWN Hash slot not served", "CLUSTERDOWN"],
  ["LOADING Redis is loading the dataset in memory", "LOADING"],
  ["BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.", "BUSY"],
  ["NOSCRIPT No matching script. Please use EVAL.", "NOSCRIPT"],
  ["NOAUTH Authentication required.", "UNAUTHORIZED"],
  ["WRONGPASS invalid username-password pair or user is disabled.", "UNAUTHORIZED"],
  ["DENIED Redis is running in protected mode because protected mode is enabled", "DENIED"],
  ["ERR max number of clients reached", "EXCEEDED"],
  ["ERR max number of clients + cluster connections reached", "EXCEEDED"],
  ["ERR max concurrent connections exceeded", "EXCEEDED"],
  ["ERR max requests limit exceeded. Limit: 10000, Usage: 10000.", "EXCEEDED"],
  ["ERR This database has been suspended.", "SUSPENDED"],
  ["ERR Database is archived, restore it in the console.", "ARCHIVED"],
];

/** Other keys may be well, and nothing has run: the breaker stays closed. */
const OTHERS_MAY_BE_WELL: readonly Row[] = [
  ["CROSSSLOT Keys in request don't hash to the same slot", "CROSSSLOT"],
  ["MOVED 3999 127.0.0.1:6381", "MOVED"],
  ["ASK 3999 127.0.0.1:6381", "ASK"],
];

/** The store is not well, and the script may have written: the breaker opens, and nothing is charged again. */
const MAY_HAVE_WRITTEN: readonly Row[] = [
  [dragonfly("Out of memory"), "FULL"],
  ["ERR DB capacity quota exceeded", "FULL"],
  [redis7("ERR The user executing the script can't run this command or subcommand"), "NOPERM"],
  [redis62("The user executing the script can't run this command or subcommand").replace("-The", "The"), "NOPERM"],
  [redis7("ERR ACL failure in script: User u has no permissions to run the 'set' command"), "NOPERM"],
  ["NOPERM this user has no permissions to run the 'evalsha' command or its subcommand", "NOPERM"],
  ["ERR internal error", "ERR"],
  ["something without a code", "ERR"],
];

/** One command is at fault, and may have written: the breaker stays closed. */
const ONE_AT_FAULT: readonly Row[] = [
  ["WRONGTYPE Operation against a key holding the wrong kind of value", "WRONGTYPE"],
  [redis6("WRONGTYPE Operation against a key holding the wrong kind of value"), "WRONGTYPE"],
  [dragonfly("-WRONGTYPE Operation against a key holding the wrong kind of value"), "WRONGTYPE"],
  [redis7("ERR user_script:7: attempt to index nil"), "SCRIPT"],
  [redis6("user_script:7: attempt to index a nil value, READONLY in it"), "SCRIPT"],
  [redis6("ERR wrong number of arguments for 'set' command"), "SCRIPT"],
  [dragonflyBare("attempt to index a nil value"), "SCRIPT"],
  [redis7("ERR Script killed by user with SCRIPT KILL..."), "SCRIPT"],
];

it.each([
  ...NOTHING_RAN.map(([text, reply]) => [text, reply, { notRun: true, isReply: false }] as const),
  ...OTHERS_MAY_BE_WELL.map(([text, reply]) => [text, reply, { notRun: true, isReply: true }] as const),
  ...MAY_HAVE_WRITTEN.map(([text, reply]) => [text, reply, { notRun: false, isReply: false }] as const),
  ...ONE_AT_FAULT.map(([text, reply]) => [text, reply, { notRun: false, isReply: true }] as const),
])("%s", (text, reply, known) => {
  expect(replyOf(said(text))).toBe(reply);
  expect(asStored(reply)).toMatchObject(known);
});

describe("over TCP, what clients say of themselves: test/kernel/store/redis-tcp-faults.long.test.ts has the clients", () => {
  const asked = (thrown: unknown) => {
    const command = () => Promise.reject(thrown);
    return commandClient({ command, timeoutMs: 30_000 }).run((redis) => redis.ping());
  };
  const REDIRECTED = "Too many Cluster redirections";

  it.each<[text: string, code: string, reply: string | undefined]>([
    ["Stream isn't writeable and enableOfflineQueue options is false", "OFFLINE", undefined],
    ["Cluster isn't ready and enableOfflineQueue options is false", "OFFLINE", undefined],
    ["The client is offline", "OFFLINE", undefined],
    ["The client is closed", "OFFLINE", undefined],
    ["The queue is full", "OFFLINE", undefined],
    ["All the root nodes are unavailable", "OFFLINE", undefined],
    ["Connection is closed.", "NETWORK", undefined],
    ['Reached the max retries per request limit (which is 0). Refer to "maxRetriesPerRequest"', "NETWORK", undefined],
    ["Socket closed unexpectedly", "NETWORK", undefined],
    ["read ECONNRESET", "NETWORK", undefined],
    ["", "NETWORK", undefined],
    [REDIRECTED, "REPLY", "MOVED"],
    [`${REDIRECTED}. Last error: ReplyError: TRYAGAIN Multiple keys request`, "REPLY", "TRYAGAIN"],
    [`${REDIRECTED}. Last error: Error: Connection is closed.`, "NETWORK", undefined],
    [redis62(READONLY), "REPLY", "READONLY"],
    ["NOAUTH Authentication required.", "REPLY", "UNAUTHORIZED"],
  ])("%j", async (text, code, reply) => {
    await expect(asked(new Error(text))).rejects.toMatchObject({ name: "RedisError", code, reply });
  });

  it.each(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN"])("an error with the code %s: nothing was sent", async (code) => {
    await expect(asked(Object.assign(new Error(), { code }))).rejects.toMatchObject({ code: "OFFLINE" });
  });

  it("a mistake in `command` stays what it is", async () => {
    const mistake = new TypeError("client.call is not a function");
    await expect(asked(mistake)).rejects.toBe(mistake);
  });
});
