/** Keys that count by what a body says: `key = ["body:email", "ip"]`. */

import type { Policy } from "../../kernel/core/policy.ts";
import { conditionsOf } from "../../kernel/http/match.ts";

const SOURCE = "body:";

/** The paths of the fields that one kind of a key names. */
export function pathsOfKind(kind: string): readonly string[] {
  return kind.split("+").flatMap((part) => (part.startsWith(SOURCE) ? part.slice(SOURCE.length) : []));
}

/** Whether the policy counts by what a body says. */
export function countsByBody({ key }: Policy): boolean {
  return key.some((kind) => pathsOfKind(kind).length > 0);
}

/** The same, also for the policies that may be asked after it. */
export function mayCountByBody(policy: Policy): boolean {
  return [policy, ...(policy.chain ?? [])].some(countsByBody);
}

const known = new WeakMap<Policy, readonly string[]>();

/** The paths of all fields that a policy asks for. */
export function pathsOf(policy: Policy): readonly string[] {
  let paths = known.get(policy);
  if (!paths) {
    const keys = [policy, ...(policy.chain ?? [])].flatMap(({ key }) => key);
    const conditions = conditionsOf(policy).flatMap(({ body = {} }) => Object.keys(body));
    paths = [...new Set([...keys.flatMap(pathsOfKind), ...conditions])];
    known.set(policy, paths);
  }
  return paths;
}
