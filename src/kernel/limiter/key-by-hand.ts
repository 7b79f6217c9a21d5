/** The client that a caller of the library names, in the form that is counted. */

import { describeValue } from "../config/mistake.ts";
import type { Policy } from "../core/policy.ts";
import type { ClientKey } from "../request/hash.ts";
import { ANONYMOUS, countedValue, formOf, GLOBAL, UNREAD } from "../request/sources.ts";

/** The client that is counted, named by the caller. */
export interface KeyByHand {
  /**
   * The client that is counted, any string. Of a combined kind (`header:x-user+ip`): a list, a part each. May be left
   * out only under a policy whose key is `global`, and for the kinds `global`, `anonymous` and `unread`.
   */
  readonly key?: string | readonly string[];
  /**
   * What `key` is: one of the policy's kinds (`ip`, `bearer`, `header:x-user`, …), or `ip` or `anonymous`, which every
   * policy falls back on. `unread`, under a policy with `body:<name>`, is all requests whose bodies cannot be read.
   * Requests of that kind and this call then count as the same client. Default: `key`, a kind that no request has.
   */
  readonly kind?: string;
}

/** The kind of a key that a caller makes up. */
const NAMED = "key";

/** The client key that a caller makes up. @throws {TypeError} if it is not a text, or is empty. */
export function namedKey(key: unknown): ClientKey {
  if (typeof key === "string" && key !== "") return { kind: NAMED, values: [key] };
  throw new TypeError(`take: expected key to be a non-empty string, found ${typeOf(key)}`);
}

/** Whether all requests under the policy count together: it needs no key. */
function isGlobal({ key }: Policy): boolean {
  return key.length === 1 && key[0] === GLOBAL.kind;
}

/** @throws {TypeError} if the policy has no such kind, or the key is not a value of this kind. */
export function keyByHand(policy: Policy, { kind, key }: KeyByHand, ipv6Prefix: number): ClientKey {
  const isAbsent = key === undefined || key === "";
  if (kind === undefined) {
    if (!isAbsent) return namedKey(key);
    if (isGlobal(policy)) return GLOBAL;
    throw new TypeError(`take: policy ${policy.name} needs a key (only policies with key "global" do without)`);
  }
  if (kind === NAMED) return namedKey(key);
  const isOfBody = policy.key.some((kind) => kind.split("+").some((part) => formOf(part).isAdded));
  const alone = [ANONYMOUS.kind, ...(isOfBody ? [UNREAD.kind] : [])];
  const kinds = [...new Set([...policy.key, "ip", ...alone])];
  if (!kinds.includes(kind)) {
    const expected = `expected kind to be one of ${kinds.join(", ")} under policy ${policy.name}`;
    throw new TypeError(`take: ${expected}; found ${describeValue(kind)}`);
  }
  if (isAbsent && kind === GLOBAL.kind) return GLOBAL;
  const parts = alone.includes(kind) ? [] : kind.split("+");
  const given: readonly unknown[] = isAbsent ? [] : Array.isArray(key) ? key : [key];
  if (given.length !== parts.length) {
    throw new TypeError(
      `take: kind ${kind} needs ${parts.length} strings as its key, one per part; found ${given.length}`,
    );
  }
  const values = parts.map((part, i) => {
    const value = typeof given[i] === "string" ? countedValue(part, given[i], ipv6Prefix) : undefined;
    // The value is not repeated: it may be a token.
    if (!value)
      throw new TypeError(
        `take: expected the key of kind ${part} to be ${formOf(part).expected ?? "a non-empty string"}`,
      );
    return value;
  });
  return { kind, values };
}

function typeOf(value: unknown): string {
  if (value === "") return "an empty one";
  return Array.isArray(value) ? "a list" : typeof value;
}
