// Runs a planned case on a real Redis, and compares every reply, every stored byte and every expiry.

import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { Redis } from "ioredis";
import type { PlannedStep } from "./parity-plan.ts";
import { type Content, describeContent } from "./parity-store.ts";

/** Reads the time, and the type, value and expiry of every key, in one command instead of three for each key. */
const INSPECT = `
local readers = { string = { 'GET' }, list = { 'LRANGE', 0, -1 }, zset = { 'ZRANGE', 0, -1, 'WITHSCORES' }, none = { 'GET' } }
local found = {}
for i, key in ipairs(KEYS) do
  local type = redis.call('TYPE', key).ok
  local name, first, last, scores = unpack(readers[type])
  local value
  if scores then value = redis.call(name, key, first, last, scores)
  elseif first then value = redis.call(name, key, first, last)
  else value = redis.call(name, key) end
  found[i] = { type, redis.call('PTTL', key), value }
end
return { redis.call('TIME'), found }
`;

/** `parityRedis` returns integers as text. */
type Found = readonly [type: Buffer, pttl: Buffer, value: null | Buffer | Buffer[]];
type Inspection = readonly [time: readonly [Buffer, Buffer], found: readonly Found[]];

/** A connection that returns integers as text: the parser of ioredis 6 misreads the last 48 integers below 2^53. */
export function parityRedis(url: string): Redis {
  return new Redis(url, { protocol: 2, stringNumbers: true });
}

/** Compares a case with Redis; undefined: no difference. Instants are arguments, so one pipeline is enough. */
export async function firstDifference(
  redis: Redis,
  sha1: string,
  plan: readonly PlannedStep[],
): Promise<string | undefined> {
  const prefix = `headgate-test:{${randomUUID()}}`;
  const name = (key: string) => `${prefix}:${key}`;
  const inspect = (await redis.script("LOAD", INSPECT)) as string;
  const pipeline = redis.pipeline();
  pipeline.callBuffer("EVALSHA", inspect, 0);
  for (const { keys, args, damage } of plan) {
    for (const [command, key, ...rest] of damage) pipeline.call(command, name(key), ...rest);
    pipeline.evalsha(sha1, keys.length, ...keys.map(name), ...args.map(String));
    pipeline.callBuffer("EVALSHA", inspect, keys.length, ...keys.map(name));
  }
  pipeline.unlink(...new Set(plan.flatMap(({ keys }) => keys.map(name))));
  const results = (await pipeline.exec()) ?? [];

  let at = 0;
  const next = () => {
    const [error, value] = results[at++]!;
    return { error, value };
  };
  let fromMs = millisecondsOf(next().value as Inspection);
  for (const [s, step] of plan.entries()) {
    for (const _ of step.damage) {
      const { error } = next();
      if (error) throw error;
    }
    const reply = next();
    const inspection = next().value as Inspection;
    const toMs = millisecondsOf(inspection);
    const found = differenceIn(step, reply, inspection[1], toMs - fromMs);
    if (found !== undefined) return `step ${s} (ARGV ${step.args.join(" ")}): ${found}`;
    fromMs = toMs;
  }
  return undefined;
}

function differenceIn(
  step: PlannedStep,
  reply: { readonly error: Error | null; readonly value: unknown },
  stored: readonly Found[],
  elapsedMs: number,
): string | undefined {
  if (reply.error) return `the script failed: ${reply.error.message}`;
  if (!Array.isArray(reply.value)) return `reply ${reply.value}, expected ${step.reply}`;
  const integers = (reply.value as string[]).map(Number);
  if (!isDeepStrictEqual(integers, step.reply)) return `reply ${reply.value}, expected ${step.reply}`;
  for (const [k, one] of stored.entries()) {
    const [found, expected] = [contentOf(one), step.stored[k]];
    if (!isDeepStrictEqual(found, expected)) {
      return `key ${step.keys[k]} holds ${describeContent(found)}, expected ${describeContent(expected)}`;
    }
    const leftMs = Number(one[1]);
    if (found && leftMs < 0) return `key ${step.keys[k]} never expires`;
    const expiryMs = step.expiryMs[k];
    if (expiryMs !== undefined && (leftMs > expiryMs || leftMs < expiryMs - elapsedMs)) {
      return `key ${step.keys[k]} expires in ${leftMs} ms, expected ${expiryMs} ms at most ${elapsedMs} ms ago`;
    }
  }
  return undefined;
}

function contentOf([type, , value]: Found): Content | undefined {
  if (value === null) return undefined;
  if (Buffer.isBuffer(value)) return { type: "string", value };
  if (type.toString() === "list") return { type: "list", value };
  const texts = value.map(String);
  const pairs = texts.flatMap((member, i) => (i % 2 === 0 ? [[member, scoreOf(texts[i + 1]!)] as const] : []));
  return { type: "zset", value: new Map(pairs) };
}

function scoreOf(text: string): number {
  return text.endsWith("inf") ? Number(text.replace("inf", "Infinity")) : Number(text);
}

/** Rounded down, so that the time between two inspections is never too short. */
function millisecondsOf([[seconds, microseconds]]: Inspection): number {
  return Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000);
}
