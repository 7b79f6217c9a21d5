// Rate limit fields, read back from an answer. Runs in Node and in workerd.

import { type BareItem, type List, parseList } from "structured-headers";

/** Parameters of the members of a list, by name of the member. */
type Members = Record<string, Record<string, BareItem>>;

export interface Fields {
  /** `RateLimit-Policy`: q and w. Absent: no such field. */
  policies?: Members;
  /** `RateLimit`: r and t. */
  states?: Members;
  /** `X-RateLimit-Limit`, `-Remaining` and `-Reset` (epoch seconds). */
  legacy?: { limit: number; remaining: number; resetAt: number };
  /** Whole seconds. */
  retryAfter?: number;
}

/** Throws what `structured-headers` throws if a field is no list, and fails on X- fields that are no integers. */
export function fieldsOf({ headers }: { headers: { get(name: string): string | null } }): Fields {
  const integer = (name: string): number => {
    const text = headers.get(name) ?? "nothing";
    if (!/^\d+$/.test(text)) throw new TypeError(`${name}: expected an integer, found ${text}`);
    return Number(text);
  };
  const [policies, states] = [headers.get("RateLimit-Policy"), headers.get("RateLimit")];
  return {
    ...(policies !== null && { policies: members(parseList(policies)) }),
    ...(states !== null && { states: members(parseList(states)) }),
    ...(headers.get("X-RateLimit-Limit") !== null && {
      legacy: {
        limit: integer("X-RateLimit-Limit"),
        remaining: integer("X-RateLimit-Remaining"),
        resetAt: integer("X-RateLimit-Reset"),
      },
    }),
    ...(headers.get("Retry-After") !== null && { retryAfter: integer("Retry-After") }),
  };
}

function members(list: List): Members {
  const found: Members = {};
  for (const [name, parameters] of list) {
    if (typeof name !== "string") throw new TypeError("expected a quoted string as the name of a member");
    if (name in found) throw new TypeError(`${name} twice in one list`);
    found[name] = Object.fromEntries(parameters);
  }
  return found;
}
