/**
 * Bans under `leased` and `shared`: the wrap is asked about the limits alone, and asks about the ban with its own calls
 * (kernel/place/gates.ts). While a ban is known, the store decides, as under `strict`: a refusal is remembered for as
 * long as any other, and a ban that was lifted elsewhere is lifted here.
 */

import { Kind } from "../../kernel/core/layout.ts";
import type { KeyRequest } from "../../kernel/core/take.ts";
import { nowAt, type Place, type SourcedReply, type Wrap } from "../../kernel/place/flows/place.ts";
import { refusalUnderStrict } from "../../kernel/place/flows/strict.ts";
import { heardOf } from "../../kernel/place/gates.ts";
import { lastReply } from "../../kernel/place/replies.ts";
import type { AskedRequest } from "../../kernel/place/taker.ts";

export function besideBans(inner: Wrap): Wrap {
  return {
    ...inner,
    answer(place, request, call) {
      const apart = bansApart(place, request);
      if (!apart) return inner.answer(place, request, call);
      if (apart.isForStore) return undefined;
      const answer = inner.answer(place, apart.rest, call);
      return answer instanceof Promise ? answer.then(apart.together) : answer && apart.together(answer);
    },
    known(place, request, call) {
      const apart = bansApart(place, request);
      if (!apart) return inner.known(place, request, call);
      if (apart.isForStore) return refusalUnderStrict(place, request);
      const known = inner.known(place, apart.rest, call);
      return known && apart.together(known);
    },
  };
}

const isBan = ({ limits }: KeyRequest) => limits[0]!.kind === Kind.ban;

/** A request in two. Undefined: its policies ban nobody. */
function bansApart(place: Place, request: AskedRequest) {
  const bans = request.keys.filter(isBan);
  if (bans.length === 0) return undefined;
  const now = nowAt(place);
  const heard = heardOf(place.memory, bans, now);
  // In shadow a ban refuses nothing. Its policy counts nothing meanwhile, as under `strict`.
  const begun = bans.filter((_, b) => heard.keys[b]!.some(({ refused }) => refused));
  const isBanned = ({ group }: KeyRequest) => begun.some((ban) => ban.group === group);
  const limits = request.keys.filter((key) => !isBan(key));
  const rest = { ...request, keys: limits.map((key) => (isBanned(key) ? { ...key, cost: 0 } : key)) };
  const isOld = ({ key }: KeyRequest) => {
    const heardAtMs = lastReply(place.memory, key)?.receivedAtMs ?? Number.NEGATIVE_INFINITY;
    return Math.abs(now.localAtMs - heardAtMs) >= now.trustedMs;
  };
  return {
    rest,
    // If a program's `placeOf` counts the limits in another place, the wrap does not ask about the ban.
    isForStore: !heard.allowed || begun.some(isOld) || bans.some((ban) => !rest.keys.some(({ gate }) => gate === ban)),
    /** The answer to the rest as one to all. If the store was asked about the bans, they stand behind the rest. */
    together({ reply, ...sourced }: SourcedReply): SourcedReply {
      // The call that has brought a refusal may have brought a ban, too.
      const { keys } = reply.allowed ? heard : heardOf(place.memory, bans, nowAt(place));
      const replies = reply.keys.length > rest.keys.length ? reply.keys : [...reply.keys, ...keys];
      const asked = [...limits, ...bans];
      return { ...sourced, reply: { ...reply, keys: request.keys.map((key) => replies[asked.indexOf(key)]!) } };
    },
  };
}
