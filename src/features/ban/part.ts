/**
 * Bans: a line more in the same take says whether a client is banned, and costs nothing. The refusals of a policy are
 * reported afterwards, in the background.
 */

import { type Decision, decide, type LimitDecision, type PolicyDecision } from "../../kernel/core/decision.ts";
import { Flag, Kind } from "../../kernel/core/layout.ts";
import type { DecidedLimit, Policy, PolicyBan } from "../../kernel/core/policy.ts";
import { ENFORCED } from "../../kernel/core/take.ts";
import type { Answered, AppliedPolicy, PolicyKey } from "../../kernel/limiter/decide.ts";
import type { KeysOf } from "../../kernel/limiter/keys.ts";
import type { Part, PartOf } from "../../kernel/limiter/part.ts";
import type { Line, Taker } from "../../kernel/place/taker.ts";
import { banId } from "./fields.ts";
import { createReports, type Report } from "./reports.ts";
import { besideBans } from "./wrap.ts";

/** The most keys of one call. */
const MOST_AT_ONCE = 500;

export const ban: PartOf = {
  name: "ban",
  isUsed: ({ ban }) => ban !== undefined,
  wrap: besideBans,
  make: (_hash, strict) => bansBy(strict),
};

function bansBy(strict: Taker): Part {
  const reports = createReports(async (all, background) => {
    for (let at = 0; at < all.length; at += MOST_AT_ONCE) {
      const lines = all.slice(at, at + MOST_AT_ONCE).map(lineOf);
      // What gets lost is not sent again.
      await strict.take({ lines, flag: Flag.chargeAnyway, slot: 0 }, { background });
    }
  });
  let linesOf: KeysOf;

  return {
    lines(inner) {
      linesOf = withBans(inner);
      return linesOf;
    },
    hear: withoutQuiet,
    mustAsk: ({ policy }) => policy.ban !== undefined,
    onAnswer(answered, takes, { flag, region, background, isRetry }) {
      const { decision, undone, brief } = answered;
      if (flag !== Flag.take || isRetry || decision.outcome === "blocked") return;
      // The units that left no room may be on their way back. Under `shared` they are back already.
      if (undone && decision.source !== "shared") return;
      // The instance pauses because it got few units: the limit may have room.
      if (decision.source === "lease") return;
      const refused = takes.filter(({ policy, isPreflight }, k) => {
        return policy.ban && !isPreflight && counts(decision.policies[k]!, brief);
      });
      for (const { request, limits } of linesOf(refused, region).filter(isBan)) {
        reports.note(request.key, limits[0]!, background);
      }
    },
    forget: reports.forget,
    close: () => reports.sendNow(),
  };
}

function lineOf({ key, limit, refusals: cost }: Report): Line {
  return { request: { key, group: ENFORCED, cost, limits: [limit] }, onFailure: "allow" };
}

/** Whether the policy has refused. Not if its store had no answer, or if what refuses may come back at any moment. */
function counts({ became, unanswered, limits }: PolicyDecision, brief: Answered["brief"]): boolean {
  if (became !== "refused" || unanswered) return false;
  const refusing = limits.filter(({ admitted }) => !admitted);
  return refusing.length === 0 || refusing.some((one) => !brief?.has(one));
}

/** A ban stands before the limits of its policy. A preflight is never banned: without it no page reads a refusal. */
function withBans(inner: KeysOf): KeysOf {
  return (takes, region) => {
    const lines: PolicyKey[] = [];
    let ban: PolicyKey | undefined;
    for (const line of inner(takes, region)) {
      if (line.take !== lines.at(-1)?.take) {
        ban = banBeside(line, takes[line.take]!);
        if (ban) lines.push(ban);
      }
      lines.push(ban && line.policy.consistency !== "strict" ? behind(ban, line) : line);
    }
    return lines;
  };
}

const behind = ({ request: gate }: PolicyKey, line: PolicyKey) => ({ ...line, request: { ...line.request, gate } });

function banBeside({ take, policy, request, onFailure }: PolicyKey, { isPreflight }: AppliedPolicy) {
  if (!policy.ban || isPreflight) return undefined;
  const limits = [limitOf(policy, policy.ban)];
  // In all regions.
  const key = `${request.key.slice(0, request.key.lastIndexOf("}") + 1)}!ban`;
  return { take, policy, limits, request: { key, group: request.group, cost: 0, limits }, onFailure };
}

const isBan = ({ limits }: Pick<PolicyKey, "limits">) => limits[0]!.kind === Kind.ban;

const limits = new WeakMap<PolicyBan, DecidedLimit>();

/** The same for all numbers of a policy. */
function limitOf({ name }: Policy, ban: PolicyBan): DecidedLimit {
  const { after, withinMs, forMs } = ban;
  const limit = limits.get(ban) ?? {
    ...({ id: banId(name), algorithm: "ban", scope: "global" } as const),
    ...{ kind: Kind.ban, limit: after, withinMs, forMs },
  };
  limits.set(ban, limit);
  return limit;
}

/** A ban is part of a decision only if it refuses. It has charged nothing. */
function withoutQuiet(answered: Answered): Answered {
  const { decision, lines, taken } = answered;
  if (!lines?.some(isBan)) return answered;
  const bans = new Set(lines.filter(isBan).map(({ request }) => request.key));
  return {
    ...answered,
    decision: decided(decision),
    lines: lines.filter((line) => !isBan(line)),
    taken: taken!.map((one) => ({ ...one, receipts: one.receipts.filter(({ key }) => !bans.has(key)) })),
  };
}

function decided(decision: Decision): Decision {
  if (decision.outcome !== "admitted" && decision.outcome !== "refused") return decision;
  const again = decide(decision.source, decision.policies.map(policyWith));
  if (again.allowed) return again;
  // The wait may be that of counts that are not shown.
  const { retryAfterMs: _, ...refused } = again;
  return decision.retryAfterMs === undefined ? refused : { ...refused, retryAfterMs: decision.retryAfterMs };
}

function policyWith(one: PolicyDecision): PolicyDecision {
  const isQuiet = ({ limit, admitted }: LimitDecision) => limit.kind === Kind.ban && admitted;
  const isRefusing = ({ limit, admitted }: LimitDecision) => limit.kind === Kind.ban && !admitted;
  if (one.limits.some(isRefusing)) return { ...one, became: "banned" };
  return { ...one, limits: one.limits.filter((limit) => !isQuiet(limit)) };
}
