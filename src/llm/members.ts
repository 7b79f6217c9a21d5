/** The members of answers that are read, and what their values are. */

import { DETAILS, FIELD, IN_TEXT, MESSAGE, MODEL, RESPONSE, ROOT, TEXT, USAGE } from "./kinds.ts";
import { FIELD_NAMES } from "./usage.ts";

/** One step of a hash, which has 30 bits: larger numbers would be slower. */
export const add = (hash: number, c: number) => (Math.imul(hash, 31) + c) & 0x3fffffff;

let made: ReadonlyMap<number, number> | undefined;

/**
 * By a hash of an object's kind and a name in it: the kind of the object times 32, plus that of the value. Made when an
 * answer is first read: most isolates read none, and each of them would pay for it before its first answer.
 */
export function members(): ReadonlyMap<number, number> {
  made ??= makeMembers();
  return made;
}

function makeMembers(): ReadonlyMap<number, number> {
  const members = new Map<number, number>();

  function define(object: number, kind: number, names: string): void {
    for (const name of names.split(" ")) {
      let hash = object;
      for (let i = 0; i < name.length; i++) hash = add(hash, name.charCodeAt(i));
      members.set(hash, object * 32 + kind);
    }
  }

  define(ROOT, TEXT, "choices delta content output candidates");
  define(
    IN_TEXT,
    TEXT,
    "content text delta refusal reasoning reasoning_content thinking arguments input partial_json transcript parts",
  );
  define(ROOT, RESPONSE, "response");
  define(ROOT, MESSAGE, "message");
  for (const object of [ROOT, RESPONSE, MESSAGE]) {
    define(object, USAGE, "usage usageMetadata");
    define(object, MODEL, "model modelVersion");
  }
  define(USAGE, DETAILS, "prompt_tokens_details input_tokens_details");
  FIELD_NAMES.forEach((names, i) => {
    for (const object of [USAGE, DETAILS]) define(object, FIELD + i, names);
  });
  return members;
}
