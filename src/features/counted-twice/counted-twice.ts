/** Warns when two middlewares count one request twice. */

import type { Policy } from "../../kernel/core/policy.ts";
import type { Feature } from "../../kernel/http/feature.ts";
import type { Take } from "../../kernel/limiter/types.ts";

/** Beside every handler. A gateway knows every middleware around its origin: it has none. */
export const countedTwice: Feature = {
  name: "countedTwice",
  isUsed: () => true,
  around: (inner) => ({
    take(passage, takes) {
      noteCounted(passage.same, takes);
      return inner.take(passage, takes);
    },
  }),
};

/**
 * The property of a request that says what it was charged for. Two middlewares around one handler get the same object,
 * whatever its type, and two copies of the package have one name for it. Rejected: a WeakMap, which takes 5 to 10 µs of
 * each request on Node, most of it in the garbage collector (Node 24, 2026-11).
 */
const COUNTED = Symbol.for("headgate.counted");
/** A policy belongs to one limiter. */
const warned = new WeakSet<Policy>();

/**
 * Notes what a request is about to be charged for. The console says once in an isolate and policy that one client is
 * charged for one request twice. Other policies, other limiters, and another client of the same request are no mistake.
 */
export function noteCounted(request: object, takes: readonly Take[]): void {
  const earlier = (request as { readonly [COUNTED]?: readonly Take[] })[COUNTED];
  if (!earlier) {
    note(request, takes);
    return;
  }
  // A program may send one object many times, to measure or in a test: each client is noted once.
  const others = takes.filter((take) => take.cost > 0 && !earlier.some((one) => isSame(one, take)));
  if (others.length > 0) note(request, [...earlier, ...others]);
  for (const take of takes) {
    const { name } = take.policy;
    if (warned.has(take.policy) || !earlier.some((one) => isSame(one, take))) continue;
    warned.add(take.policy);
    const why = "two middlewares of one limiter are around it (app.use twice, or one inside the other): remove one";
    console.warn(JSON.stringify({ event: "note", note: `policy ${name} counts one request twice: ${why}` }));
  }
}

/** Hidden from copies and logs of the request: it holds client keys. A frozen request gets none. */
function note(request: object, value: readonly Take[]): void {
  Reflect.defineProperty(request, COUNTED, { value, configurable: true });
}

function isSame(one: Take, other: Take): boolean {
  if (one.policy !== other.policy || one.cost === 0 || other.cost === 0) return false;
  const { kind, values } = one.key;
  return kind === other.key.kind && values.every((value, i) => value === other.key.values[i]);
}
