/**
 * Keys of the store: `hg:2:{<policy>:<partition>}`, and `:<region>` behind it for limits that count by region. With a
 * namespace `hg:2:<namespace>:{…}`. The text in braces is the hash tag: all keys of one policy and client lie in one
 * hash slot of a Redis Cluster.
 */

import { hashTagOf, KEY_PREFIX } from "../core/layout.ts";

/** @param namespace of the deployment; empty: none. */
export function storeKey(policy: string, partition: string, namespace = ""): string {
  return `${KEY_PREFIX}${namespace}${namespace && ":"}{${policy}:${partition}}`;
}

/** The policy whose counts a key holds. */
export function policyOf(key: string): string {
  return hashTagOf(key).split(":", 1)[0]!;
}

/** The region under which a key counts. Undefined: the key counts for all regions. */
export function regionOfKey(key: string): string | undefined {
  return /\}:(.+)$/.exec(key)?.[1];
}
