/**
 * Chains: when a policy refuses, its overflow is asked in the same decision, and pays. A chain is a list of links, each
 * a group of keys of its own: the policy that matched, its overflow, the overflow's overflow. Exactly one link is
 * charged. Pure. Mirror: lua/chain.lua.
 */

import { CHAIN_LINKS, CHAINED, ENFORCED, LINKED } from "./layout.ts";

/** The group of a link. @param chain 0 … `MAX_KEYS`. @param link 0 for the policy that matched, at most 3. */
export function linkGroup(chain: number, link: number): number {
  return CHAINED + chain * CHAIN_LINKS + link;
}

/** The chain that a group is a link of. undefined: it is no link. */
export function chainOf(group: number): number | undefined {
  return group < CHAINED ? undefined : Math.floor((group - CHAINED) / CHAIN_LINKS);
}

/**
 * The group of a link that is asked without the others of its chain, because they lie elsewhere: it is charged if it
 * admits too, and refuses nothing but itself. Who asks chooses the payer.
 */
export function asLinkAlone(group: number): number {
  return group - CHAINED + LINKED;
}

/** The group as it was before `asLinkAlone`: the same if it is none of those. */
export function asLinkOfChain(group: number): number {
  return group >= LINKED && group < CHAINED ? group - LINKED + CHAINED : group;
}

/** Whether the policies of this group may refuse a request: all but those in shadow. */
export function isEnforced(group: number): boolean {
  return group === ENFORCED || group >= LINKED;
}

/** What the limits of one key have said. */
export interface KeyVerdict {
  readonly group: number;
  readonly refused: boolean;
  /** The request is a repeat under this key (once.ts). */
  readonly repeated: boolean;
}

const NONE: ReadonlySet<number> = new Set();

/**
 * The groups that a take does not charge: those in which a limit refuses, `ENFORCED` if the whole request is refused,
 * and of each chain every link but the payer.
 *
 * The payer is the first link that does not refuse. A link that has charged the request before comes before the others:
 * a repeat stays with the one who paid. A chain without a payer refuses the request.
 */
export function refusedGroups(verdicts: readonly KeyVerdict[]): ReadonlySet<number> {
  // Most requests are admitted, and have no chain: nothing is made for them.
  if (!verdicts.some(({ refused, group }) => refused || group >= CHAINED)) return NONE;
  const refused = new Set<number>();
  for (const verdict of verdicts) if (verdict.refused) refused.add(verdict.group);
  if (!verdicts.some(({ group }) => group >= CHAINED)) return refused;
  const payers = payersOf(verdicts, refused);
  for (const { group } of verdicts) {
    const chain = chainOf(group);
    if (chain === undefined) continue;
    const payer = payers.get(chain);
    if (payer === undefined) refused.add(ENFORCED);
    if (payer !== group) refused.add(group);
  }
  return refused;
}

/** The group that pays, by chain. A chain in which every link refuses has none. */
function payersOf(verdicts: readonly KeyVerdict[], refused: ReadonlySet<number>): Map<number, number> {
  const repeated = new Set(verdicts.flatMap((one) => (one.repeated ? [one.group] : [])));
  const payers = new Map<number, number>();
  for (const { group } of verdicts) {
    const chain = chainOf(group);
    if (chain === undefined || refused.has(group)) continue;
    const other = payers.get(chain) ?? Number.POSITIVE_INFINITY;
    const isBefore = repeated.has(group) === repeated.has(other) ? group < other : repeated.has(group);
    if (isBefore) payers.set(chain, group);
  }
  return payers;
}
