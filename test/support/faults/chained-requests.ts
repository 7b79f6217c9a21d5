// Requests that a plan, a team or credits pay for: their policies, and the keys under which they are counted.

import { Kind } from "../../../src/kernel/core/algorithm.ts";
import { storeKey } from "../../../src/kernel/limiter/store-key.ts";
import { partitionHasher } from "../../../src/kernel/request/hash.ts";
import { GLOBAL } from "../../../src/kernel/request/sources.ts";
import { KEY_SECRET } from "./chained-places.ts";

export const LINKS = ["plan", "team", "credits"] as const;
/** Beside the chain: a policy for some of the requests, which refuses most of them. */
export const BESIDE = "site";
export const NAMES = [...LINKS, BESIDE] as const;
export type Name = (typeof NAMES)[number];
/** A request to `LOOK` costs nothing. */
export const [WIDE, NARROW, LOOK] = ["/wide", "/narrow", "/look"];
/** The part of the requests that the policy beside the chain matches. */
const NARROW_PART = 0.2;
export const USERS = 20;
const TEAMS = 4;
/** No unit leaves the window within a test. */
const WINDOW = { window: "7d", oldest: "whole", buckets: 7 } as const;
const BUCKET_MS = 86_400_000;

/** As the store gets it. */
export const specOf = (limit: number) =>
  ({ kind: Kind.whole, limit, bucketMs: BUCKET_MS, buckets: WINDOW.buckets }) as const;

/** The whole chain admits about half of the requests, the policy beside it about a third of those it matches. */
export function limitsFor(requests: number): Record<Name, number> {
  const part = (of: number) => Math.ceil(requests * of);
  return { plan: part(0.24 / USERS), team: part(0.16 / TEAMS), credits: part(0.08), site: part(0.06) };
}

export function policiesOf(limits: Record<Name, number>): object[] {
  const limitsOf = (name: Name) => [{ limit: limits[name], ...WINDOW }];
  const deny = { onStoreFailure: "deny" };
  return [
    {
      ...{ name: "plan", key: ["header:x-user"], limits: limitsOf("plan"), overflow: "team", ...deny },
      cost: [{ path: LOOK, cost: 0 }],
    },
    { name: "team", key: ["header:x-team"], limits: limitsOf("team"), overflow: "credits" },
    { name: "credits", key: ["global"], limits: limitsOf("credits") },
    { name: BESIDE, key: ["global"], match: { path: NARROW }, limits: limitsOf(BESIDE), ...deny },
  ];
}

export interface Sent {
  readonly path: string;
  readonly user: string;
  readonly team: string;
  status: number;
  /** When it was sent, and when its answer came, ms since the epoch. */
  sentAtMs: number;
  answeredAtMs: number;
}

/** The clients, drawn one after the other. */
export function drawRequests(random: () => number) {
  return (): Sent => {
    const user = Math.floor(random() * USERS);
    return {
      path: random() < NARROW_PART ? NARROW : WIDE,
      ...{ user: `user-${user}`, team: `team-${user % TEAMS}`, status: 0, sentAtMs: 0, answeredAtMs: 0 },
    };
  };
}

const hash = partitionHasher(KEY_SECRET, "");
/** The key of a client under a policy. */
export const keyOf = async (name: string, { user, team }: Pick<Sent, "user" | "team">) => {
  const kinds: Record<string, { kind: string; values: string[] }> = {
    plan: { kind: "header:x-user", values: [user] },
    team: { kind: "header:x-team", values: [team] },
  };
  return storeKey(name, await hash(kinds[name] ?? GLOBAL));
};
