/** What is allowed in a configuration, but probably not what was meant. */

import type { Match, Policy } from "../core/policy.ts";

/** Kinds of key that the client chooses and nobody verifies here: a new value is a new partition. */
const CHOSEN_BY_CLIENT = /^(?:bearer|header:|cookie:|query:)/;

/**
 * A policy on keys that the client chooses limits only those who do not change them, unless a policy that counts by
 * address matches the same requests.
 */
export function policyWarnings(policies: readonly Policy[]): string[] {
  const byAddress = policies.filter(({ key, mode }) => countsByAddress(key) && mode === "enforce");
  return policies
    .filter(({ key, match }) => key.some(isChosen) && !byAddress.some((guard) => covers(guard.match, match)))
    .map(
      ({ name, key }) =>
        `policy ${name} counts by ${key.find(isChosen)}, which a client can change at will: add a policy with key "ip" for the same requests`,
    );
}

function isChosen(kind: string): boolean {
  return kind.split("+").some((part) => CHOSEN_BY_CLIENT.test(part));
}

/** The address is always present, so that a list beginning with it never gets to its other kinds. */
function countsByAddress(key: readonly string[]): boolean {
  return key[0] === "ip";
}

/** Whether `guard` surely matches every request that `match` does; patterns are compared as text. */
function covers(guard: Match, match: Match): boolean {
  return (
    coversField(guard.method, match.method, (a, b) => a === b || (a === "GET" && b === "HEAD")) &&
    coversField(guard.host, match.host, (a, b) => a === b || a === "*") &&
    coversField(guard.path, match.path, coversPath)
  );
}

/** @param match absent: everything, which `*` stands for. */
function coversField(
  guard: readonly string[] | undefined,
  match: readonly string[] | undefined = ["*"],
  coversOne: (guard: string, match: string) => boolean,
): boolean {
  return guard === undefined || match.every((one) => guard.some((other) => coversOne(other, one)));
}

function coversPath(guard: string, match: string): boolean {
  return guard === match || guard === "/*" || (guard.endsWith("/*") && match.startsWith(guard.slice(0, -1)));
}
