/** The client that an admin names by its raw key. */

import type { Policy } from "../../core/policy.ts";
import type { KeyByHand } from "../../limiter.ts";

/** In place of `?key=`, because URLs reach logs. */
const KEY_FIELD = "Headgate-Key";

/** The character that replaces a byte that is not UTF-8. Browsers send an ü as such a byte. */
const UNREADABLE = "\ufffd";

/**
 * `kind`, by default the policy's first one, and `key`, once for each part of a combined kind. The field has the parts
 * encoded as in a URL, because a field can neither hold every character nor be given twice: separated by commas.
 *
 * @throws {TypeError} if a character of the field was lost on the way: it would name another client.
 */
export function keyOf({ url, headers }: Request, policy: Policy): KeyByHand {
  const { searchParams } = new URL(url);
  const kind = searchParams.get("kind") ?? policy.key[0]!;
  const field = headers.get(KEY_FIELD);
  if (field?.includes(UNREADABLE)) throw new TypeError(`${KEY_FIELD}: expected its parts encoded as in a URL`);
  const inField = field !== null && (kind.includes("+") ? field.split(",") : [field]);
  const parts = inField ? inField.map((part) => decoded(part.trim())) : searchParams.getAll("key");
  const key = parts.length > 1 ? parts : parts[0];
  return { kind, ...(key !== undefined && { key }) };
}

/** A text that is not encoded may hold a percent sign. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
