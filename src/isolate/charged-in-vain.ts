/** What a take has charged although it was refused elsewhere. */

import { asCharged, ENFORCED, groupsRefusedIn, type KeyRequest, type TakeReply } from "../core/take.ts";

/**
 * The keys to give back after a take with `Flag.take`, at the instant of its reply: those that it has charged, and
 * whose group is not kept.
 *
 * @param keys as they were asked for. @param isKept whether what was charged for a group stays charged.
 */
export function chargedInVain(
  keys: readonly KeyRequest[],
  reply: TakeReply,
  isKept: (group: number) => boolean,
): KeyRequest[] {
  const refused = groupsRefusedIn(keys, reply.keys);
  if (refused.has(ENFORCED)) return [];
  const isInVain = ({ group, cost }: KeyRequest) => cost > 0 && !refused.has(group) && !isKept(group);
  return asCharged(keys, reply).filter(isInVain);
}
