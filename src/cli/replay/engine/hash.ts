/** The partition of a client key as src/partition/hash.ts makes it, at once: a promise for each line is too slow. */

import { createHmac, randomBytes } from "node:crypto";
import type { Settings } from "../../../config/settings.ts";
import { hashedBytes, partitionOf } from "../../../partition/hash.ts";
import { KEY_SECRET_PURPOSE } from "../../../partition/hmac.ts";
import { DEPLOYED_TOKEN } from "../../wrangler/read-bindings.ts";

/** @param text as `partitionText` writes a client key. */
export type HashText = (text: string) => string;

/** @param secret and fallback as `partitionHasher` gets them. */
export function textHasher(secret: string | undefined, fallback: string): HashText {
  const key = secret ?? createHmac("sha256", fallback).update(KEY_SECRET_PURPOSE).digest();
  return (text) => partitionOf(createHmac("sha256", key).update(hashedBytes(text)).digest());
}

/** One for all configurations, so that a client has one name in the report. */
const SECRET_OF_THIS_RUN = randomBytes(32).toString("hex");

/**
 * The hasher of a configuration. Without the gateway's secret it is another one for each run: from a hash under a
 * secret that everybody can know, an address could be found by trying all addresses.
 */
export function hasherOf({ keySecret, redis }: Settings): { readonly hash: HashText; readonly isOwn: boolean } {
  const isKnown = (secret: string | undefined) => secret !== undefined && secret !== DEPLOYED_TOKEN;
  const token = redis?.nodes[0]?.token;
  const isOwn = isKnown(keySecret ?? token);
  return {
    hash: isOwn ? textHasher(keySecret, token ?? "") : textHasher(undefined, SECRET_OF_THIS_RUN),
    isOwn,
  };
}
