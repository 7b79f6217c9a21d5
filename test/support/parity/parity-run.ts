// Runs a planned case on a real Redis, and compares every reply, every stored byte and every expiry.

import { randomBytes } from "node:crypto";
import type { PlannedStep } from "./parity-plan.ts";
import { type Content, describeContent, hexOf } from "./parity-store.ts";
import { type Command, isError, type ParityWire, type Reply } from "./parity-wire.ts";

/** Compares a case with Redis; undefined: no difference. Instants are arguments, so a case is sent at once. */
export async function firstDifference(
  wire: ParityWire,
  sha1: string,
  plan: readonly PlannedStep[],
): Promise<string | undefined> {
  const prefix = `headgate-test:{${randomBytes(9).toString("base64url")}}`;
  const name = (key: string) => prefix + key;
  const commands: Command[] = [["TIME"]];
  for (const { keys, args, damage, stored } of plan) {
    for (const [command, key, ...rest] of damage) commands.push([command, name(key), ...rest]);
    commands.push(["EVALSHA", sha1, String(keys.length), ...keys.map(name), ...args.map(String)]);
    for (const [k, key] of keys.entries()) commands.push(...inspect(name(key), stored[k]));
    commands.push(["TIME"]);
  }
  commands.push(["UNLINK", ...new Set(plan.flatMap(({ keys }) => keys.map(name)))]);
  const replies = await wire.run(commands);

  let at = 0;
  const next = () => replies[at++]!;
  let fromMs = millisecondsOf(next());
  for (const [s, step] of plan.entries()) {
    for (const _ of step.damage) {
      const done = next();
      if (isError(done)) throw new Error(done.error);
    }
    const reply = next();
    const found = step.keys.map((): Found => [next(), next()]);
    const toMs = millisecondsOf(next());
    const difference = differenceIn(step, reply, found, toMs - fromMs);
    if (difference !== undefined) return `step ${s} (ARGV ${step.args.join(" ")}): ${difference}`;
    fromMs = toMs;
  }
  return undefined;
}

/** What is under a key, read as what is expected there, and its expiry in ms. */
type Found = readonly [value: Reply, leftMs: Reply];

/** A value of another type than is expected is an error. */
const READERS = { string: ["GET"], list: ["LRANGE", "0", "-1"], zset: ["ZRANGE", "0", "-1", "WITHSCORES"] } as const;

function inspect(key: string, expected: Content | undefined): Command[] {
  const [command, ...range] = READERS[expected?.type ?? "string"];
  return [
    [command, key, ...range],
    ["PTTL", key],
  ];
}

function differenceIn(step: PlannedStep, reply: Reply, found: readonly Found[], elapsedMs: number): string | undefined {
  if (isError(reply)) return `the script failed: ${reply.error}`;
  if (!isSame(reply, step.reply)) return `reply ${reply}, expected ${step.reply}`;
  for (const [k, [value, left]] of found.entries()) {
    const expected = step.stored[k];
    if (!holds(value, expected)) {
      return `key ${step.keys[k]} holds ${describe(value)}, expected ${describeContent(expected)}`;
    }
    if (!expected) continue;
    const leftMs = Number(left);
    if (leftMs < 0) return `key ${step.keys[k]} never expires`;
    const expiryMs = step.expiryMs[k];
    if (expiryMs !== undefined && (leftMs > expiryMs || leftMs < expiryMs - elapsedMs)) {
      return `key ${step.keys[k]} expires in ${leftMs} ms, expected ${expiryMs} ms at most ${elapsedMs} ms ago`;
    }
  }
  return undefined;
}

function holds(value: Reply, expected: Content | undefined): boolean {
  if (!expected) return value === null;
  if (expected.type === "string") return value === expected.value;
  if (!Array.isArray(value)) return false;
  if (expected.type === "list") return isSame(value, expected.value);
  // A member and its score, by turns.
  const scores = expected.value;
  return (
    value.length === 2 * scores.size && value.every((one, i) => i % 2 > 0 || scoreOf(value[i + 1]) === scores.get(one))
  );
}

function isSame(found: Reply, expected: readonly (number | string)[]): boolean {
  return Array.isArray(found) && found.length === expected.length && expected.every((one, i) => one === found[i]);
}

function scoreOf(text: Reply): number {
  return Number(String(text).replace(/inf$/, "Infinity"));
}

function describe(value: Reply): string {
  if (value === null) return "nothing";
  if (isError(value)) return `another type (${value.error})`;
  return Array.isArray(value) ? value.map(hexOf).join(" ") : hexOf(String(value));
}

/** Rounded down, so that the time between two inspections is never too short. */
function millisecondsOf(time: Reply): number {
  const [seconds, microseconds] = time as readonly Reply[];
  return Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000);
}
