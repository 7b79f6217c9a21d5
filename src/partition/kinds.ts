/** The form in which a value of each kind of key is counted: one for what a request presents and for what is named by hand. */

import { normalizeHost } from "../pattern/text.ts";
import { countedAddress } from "./address.ts";
import type { ClientKey } from "./hash.ts";

/** Requests of nobody in particular: no key of the policy is present, and no address either. */
export const ANONYMOUS: ClientKey = { kind: "anonymous", values: [] };

/** All requests together. */
export const GLOBAL: ClientKey = { kind: "global", values: ["global"] };

/**
 * @param part one part of a kind, for example `header:x-user`.
 * @returns empty or undefined: this is no value of that kind.
 */
export function countedValue(part: string, value: string): string | undefined {
  const [kind] = part.split(":", 1);
  switch (kind) {
    case "ip":
      return countedAddress(value);
    case "bearer":
    case "header":
    case "cookie":
      return value.trim();
    case "host":
      return normalizeHost(value);
    case "global":
      return value === GLOBAL.kind ? value : undefined;
    default:
      return value;
  }
}
