/**
 * Checks a request that came from another program, before anything is read or written. A limiter of the same version
 * never sends a wrong one. Others do: those who call the object by hand, and a newer limiter whose kinds of limits this
 * object does not know yet.
 */

import { algorithmOf } from "../core/algorithms.ts";
import {
  Flag,
  HEAD_COSTS,
  Kind,
  MAX_BUCKETS,
  MAX_EXACT,
  MAX_KEYS,
  MAX_LIMITS,
  MAX_REPEATS,
  MAX_WINDOW_MS,
  ONCE_MS_RANGE,
} from "../core/layout.ts";
import type { Once } from "../core/once.ts";
import { type KeyRequest, keysOfRequest, type LimitRequest, type TakeRequest } from "../core/take.ts";
import { WrongRequest } from "./rejected.ts";

/** Characters. The keys that this package makes have at most 131. */
const MAX_KEY_LENGTH = 1_024;
const KINDS: ReadonlySet<unknown> = new Set(Object.values(Kind));

/** @throws {WrongRequest} that says where, what was expected, and nothing of a key. */
export function checkRequest(request: TakeRequest): void {
  const { keys, flag, atMs, slot } = (request ?? {}) as Partial<TakeRequest>;
  expectInteger("flag", flag, 0, Flag.look);
  expectInteger("atMs", atMs ?? 0, 0, MAX_EXACT);
  expectInteger("slot", slot ?? 0, 0, MAX_EXACT);
  expectList("keys", keys, MAX_KEYS);
  for (const [k, one] of keys!.entries()) checkKey(`keys[${k}]`, one ?? {});
  const all = keysOfRequest(request);
  if (new Set(all).size < all.length) throw new WrongRequest("take: keys: expected no key twice");
}

/** @throws {WrongRequest} */
export function checkKeys(keys: readonly string[]): void {
  if (!Array.isArray(keys)) throw new WrongRequest("reset: keys: expected a list");
  for (const [k, key] of keys.entries()) expectKey(`keys[${k}]`, key);
}

/** An instant in ms since the epoch, or none. @throws {WrongRequest} */
export function checkInstant(nowMs: number | undefined): void {
  expectInteger("nowMs", nowMs ?? 0, 0, MAX_EXACT);
}

function checkKey(where: string, { key, group, cost, limits, once, flag, atMs }: Partial<KeyRequest>): void {
  expectKey(`${where}.key`, key);
  expectInteger(`${where}.group`, group, 0, MAX_KEYS);
  expectInteger(`${where}.cost`, cost, 0, HEAD_COSTS - 1);
  expectInteger(`${where}.flag`, flag ?? 0, 0, Flag.look);
  expectInteger(`${where}.atMs`, atMs ?? 0, 0, MAX_EXACT);
  if (once !== undefined) checkOnce(`${where}.once`, once);
  expectList(`${where}.limits`, limits, MAX_LIMITS);
  for (const [l, limit] of limits!.entries()) checkLimit(`${where}.limits[${l}]`, limit ?? {});
}

function checkOnce(where: string, once: Partial<Once> | null): void {
  const { id, forMs, repeats, settles } = once ?? {};
  expectKey(`${where}.id`, id);
  expectInteger(`${where}.forMs`, forMs, 1, ONCE_MS_RANGE.max);
  expectInteger(`${where}.settles`, settles ?? 0, 0, HEAD_COSTS - 1);
  const [least, most] = settles === undefined ? [1, MAX_REPEATS] : [0, 0];
  expectInteger(`${where}.repeats`, repeats, least, most);
}

function checkLimit(where: string, limit: LimitRequest): void {
  if (!KINDS.has(limit.kind)) {
    throw new WrongRequest(`take: ${where}.kind: expected an integer from 1 to ${KINDS.size}`);
  }
  const algorithm = algorithmOf(limit);
  const misfit = algorithm.periods?.misfit(limit);
  if (misfit) throw new WrongRequest(`take: ${where}.${misfit.field}: expected ${misfit.expected}`);
  const [spanMs, buckets, ...more] = algorithm.encode(limit);
  expectInteger(`${where}.atMs`, limit.atMs ?? 0, 0, MAX_EXACT);
  for (const [name, most] of Object.entries(algorithm.units)) {
    expectInteger(`${where}.${name}`, limit[name as "limit"], 1, most);
  }
  expectInteger(`${where}: its time in ms`, spanMs, 1, MAX_WINDOW_MS);
  expectInteger(`${where}.buckets`, buckets, "buckets" in limit ? 1 : 0, MAX_BUCKETS);
  for (const number of more) expectInteger(`${where}: each number`, number, 0, MAX_EXACT);
  const fits = algorithm.tooLarge(limit);
  if (fits !== undefined) throw new WrongRequest(`take: ${where}: expected ${fits}`);
}

function expectKey(where: string, key: unknown): void {
  if (typeof key === "string" && key.length > 0 && key.length <= MAX_KEY_LENGTH) return;
  throw new WrongRequest(`${where}: expected a string of 1 to ${MAX_KEY_LENGTH} characters`);
}

function expectList(where: string, list: unknown, most: number): void {
  if (Array.isArray(list) && list.length > 0 && list.length <= most) return;
  throw new WrongRequest(`take: ${where}: expected a list of 1 to ${most}`);
}

function expectInteger(where: string, value: unknown, least: number, most: number): void {
  if (Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most) return;
  throw new WrongRequest(`take: ${where}: expected an integer from ${least} to ${most}`);
}
