// Reads the rate limit fields of an answer. Runs in Node and in workerd.

import { type BareItem, type List, parseList } from "structured-headers";

/** The parameters of each member of a list, by the member's name. */
type Members = Record<string, Record<string, BareItem>>;

export interface Fields {
  /** The q and w of each member of `RateLimit-Policy`. Absent if the answer has no such field. */
  policies?: Members;
  /** The r and t of each member of `RateLimit`. */
  states?: Members;
  /** `X-RateLimit-Limit`, `-Remaining` and `-Reset` (epoch seconds). */
  legacy?: { limit: number; remaining: number; resetAt: number };
  /** `Retry-After`, in whole seconds. */
  retryAfter?: number;
}

/** Throws what `structured-headers` throws for a field that is not a list. Fails on an X- field without an integer. */
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
    if (Object.hasOwn(found, name)) throw new TypeError(`${name} twice in one list`);
    found[name] = Object.fromEntries(parameters);
  }
  return found;
}
