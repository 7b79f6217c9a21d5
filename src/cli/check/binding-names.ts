/** Names of bindings: which are read, and which are nearly one of those. */

import { nearest } from "../../nearest.ts";

/** Every binding of docs/configuration.md. A test compares the two. */
export const BINDING_NAMES: readonly string[] = [
  "UPSTASH_REDIS_REST_URL",
  "UPSTASH_REDIS_REST_TOKEN",
  "REDIS_NODES",
  "REDIS_TIMEOUT_MS",
  "COUNTS",
  "COUNTS_LOCATION",
  "COUNTS_SHARDS",
  "ORIGIN_URL",
  "ORIGIN",
  "ORIGIN_TIMEOUT_MS",
  "POLICIES",
  "REGION",
  "REGIONS",
  "KEY_SECRET",
  "RATE_LIMIT_HEADERS",
  "ADMIN_TOKEN",
  "ACCESS_TEAM",
  "ACCESS_AUD",
  "LIVE_REFRESH",
  "EXPLAIN",
  "RECORD",
  "ASSETS",
  "STATS",
  "ANALYTICS",
  "STATS_FLUSH",
];

/** The binding that this name probably means. Undefined: the name is read, or belongs to the user's own program. */
export function meantBinding(name: string): string | undefined {
  if (BINDING_NAMES.includes(name) || /^POLICIES/.test(name)) return undefined;
  if (/^policy$/i.test(name)) return "POLICIES";
  return nearest(name, BINDING_NAMES) ?? BINDING_NAMES.find((known) => hasSameWords(name, known));
}

/** Whether one name has all words of the other, in any order, and at least two: `UPSTASH_REDIS_URL`, `SECRET_KEY`. */
function hasSameWords(name: string, known: string): boolean {
  const [words, knownWords] = [name.toUpperCase().split("_"), known.split("_")];
  return words.length > 1 && words.every((word) => knownWords.includes(word));
}
