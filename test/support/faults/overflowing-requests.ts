// Requests whose plan, team and credits pay for them, all at once through three gateways, while calls to the counts and
// their answers get lost. In the end the counts are compared with what the origin was told: `Headgate-Paid-By`. It
// imports nothing of vitest: scripts/stress/chains.ts uses it too.
//
// All policies have `onStoreFailure = "deny"`. A request is refused then if a place has not answered its gateway, and
// each unit in the counts belongs to a request that was admitted, or
//
// - to a take that ran although its answer did not come in time, or
// - to a call that was to give the unit back and got lost, or
// - with several places, to a breaker that had opened before the unit could be given back.
//
// For every policy, units - admitted is at least 0, and at most the number of these. For a request with an id the
// counts say which links were charged, and each of its units must have one of these causes. (Under `local` the isolates
// admit by counts of their own meanwhile, and under `allow` without any. Each of them may admit up to the limit again,
// and charges afterwards what it has admitted.)

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Agent, request as ask } from "undici";
import { Kind } from "../../../src/core/algorithm.ts";
import { Flag } from "../../../src/core/take.ts";
import { GLOBAL } from "../../../src/keys/sources.ts";
import { policyOf, storeKey } from "../../../src/limiter/store-key.ts";
import { partitionHasher } from "../../../src/partition/hash.ts";
import { firstWindow, keyRequest } from "../../../src/testing/requests.ts";
import { mulberry32 } from "../mulberry32.ts";
import type { ScriptCall } from "./call-proxy.ts";
import { type ChainedPlaces, KEY_SECRET, type PlacesKind, startChainedPlaces } from "./chained-places.ts";

const LINKS = ["plan", "team", "credits"] as const;
/** Beside the chain: a policy for some of the requests, which refuses most of them. */
const BESIDE = "site";
const NAMES = [...LINKS, BESIDE] as const;
type Name = (typeof NAMES)[number];
/** A request to `LOOK` costs nothing. */
const [WIDE, NARROW, LOOK] = ["/wide", "/narrow", "/look"];
/** The part of the requests that the policy beside the chain matches. */
const NARROW_PART = 0.2;
/** The part of the requests that have an id. With several places the causes are known only by it. */
const ID_PART: Record<PlacesKind, number> = { redis: 0.5, "three-redis": 1, object: 0.5 };
const ONCE = { once: "header:idempotency-key", onceFor: "1h", repeats: 1 };
const [USERS, TEAMS] = [20, 4];
const WINDOW_MS = 7 * 86_400_000;
/** The counts of a window are never forgotten within a test: it counts whole buckets. */
const BUCKETS = 7;

/** The whole chain admits about half of the requests, the policy beside it about a third of those it matches. */
function limitsFor(requests: number): Record<Name, number> {
  const part = (of: number) => Math.ceil(requests * of);
  return { plan: part(0.24 / USERS), team: part(0.16 / TEAMS), credits: part(0.08), site: part(0.06) };
}

function policiesOf(limits: Record<Name, number>): object[] {
  const limitsOf = (name: Name) => [{ limit: limits[name], window: "7d", oldest: "whole", buckets: BUCKETS }];
  const deny = { onStoreFailure: "deny" };
  return [
    {
      ...{ name: "plan", key: ["header:x-user"], limits: limitsOf("plan"), overflow: "team", ...deny },
      cost: [{ path: LOOK, cost: 0 }],
      ...ONCE,
    },
    { name: "team", key: ["header:x-team"], limits: limitsOf("team"), overflow: "credits" },
    { name: "credits", key: ["global"], limits: limitsOf("credits") },
    { name: BESIDE, key: ["global"], match: { path: NARROW }, limits: limitsOf(BESIDE), ...deny, ...ONCE },
  ];
}

interface Sent {
  readonly path: string;
  readonly user: string;
  readonly team: string;
  readonly id: string | undefined;
  status: number;
  /** When the answer came, ms since the epoch. */
  answeredAtMs: number;
}

export interface Options {
  readonly requests: number;
  readonly seed: number;
  /** The time budget of a call, in ms: longer than a call takes while all requests are open. */
  readonly budgetMs: number;
  /** The part of the calls that meet a fault. */
  readonly rate: number;
}

export interface Told {
  readonly statuses: Readonly<Record<number, number>>;
  /** Calls to the counts, and those that met a fault. */
  readonly calls: number;
  readonly faults: number;
  /** By policy: the requests that it paid for, the units in the counts, and the most units that there may be. */
  readonly policies: Readonly<Record<Name, { readonly paid: number; readonly units: number; readonly most: number }>>;
  /** Units that could not be given back because a breaker had opened. */
  readonly stayed: number;
  /** Clients whose three links lie in three places. */
  readonly spread: number;
  /** What must not be, in words. */
  readonly wrong: readonly string[];
}

/** How long units that are given back after the answer may take, in ms. Only a failing run waits this long. */
const PATIENCE_MS = 20_000;
/** Requests that follow the first ones, all at once too: this part of them, at most so often. */
const [WAVE_PART, MOST_WAVES] = [0.2, 20];

/**
 * Sends all requests at once. Then sends some more, until each link has paid and a chain has refused: breakers have
 * kept others from the counts. Compares in the end.
 */
export async function sendOverflowing(kind: PlacesKind, { requests, seed, budgetMs, rate }: Options): Promise<Told> {
  const limits = limitsFor(requests);
  const paidBy = new Map<number, string>();
  const twice: number[] = [];
  const origin = createServer(({ headers }, response) => {
    response.end();
    // A look has no number.
    if (headers["x-n"] === undefined) return;
    const n = Number(headers["x-n"]);
    if (paidBy.has(n)) twice.push(n);
    paidBy.set(n, String(headers["headgate-paid-by"]));
  });
  origin.keepAliveTimeout = 120_000;
  await new Promise<void>((resolve) => origin.listen(0, "127.0.0.1", resolve));
  const originUrl = `http://127.0.0.1:${(origin.address() as AddressInfo).port}`;
  const places = await startChainedPlaces(kind, { policies: policiesOf(limits), originUrl, seed, budgetMs });
  try {
    const all = draw(mulberry32(seed), ID_PART[kind]);
    const sent: Sent[] = [];
    const agent = new Agent({ headersTimeout: 0, bodyTimeout: 0, connect: { timeout: 60_000 } });
    const isOver = () => {
      return LINKS.every((name) => [...paidBy.values()].includes(name)) && sent.some(({ status }) => status === 429);
    };
    for (let wave = 0; wave <= MOST_WAVES && !isOver(); wave++) {
      await places.setRate(0);
      await Promise.all(places.gateways.map((gateway) => closeBreakers(gateway, places)));
      await places.setRate(rate);
      const size = wave === 0 ? requests : Math.ceil(requests * WAVE_PART);
      const from = sent.length;
      for (let n = from; n < from + size; n++) sent.push(all(n));
      await sendAtOnce(places, sent, from, agent, wave === 0);
    }
    await agent.close();
    await places.setRate(0);
    const deadlineMs = performance.now() + PATIENCE_MS;
    for (;;) {
      const told = await compare(places, sent, paidBy, limits);
      const wrong = [...told.wrong, ...twice.map((n) => `request ${n}: the origin got it twice`)];
      if (!isOver()) wrong.push("not every link has paid, or no chain has refused");
      if (wrong.length === 0 || performance.now() > deadlineMs) return { ...told, wrong };
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  } finally {
    await places.stop();
    origin.closeAllConnections();
    origin.close();
  }
}

/** The clients, drawn one after the other. */
function draw(random: () => number, idPart: number) {
  return (n: number): Sent => {
    const user = Math.floor(random() * USERS);
    return {
      path: random() < NARROW_PART ? NARROW : WIDE,
      ...{ user: `user-${user}`, team: `team-${user % TEAMS}`, status: 0, answeredAtMs: 0 },
      id: random() < idPart ? `id-${n}` : undefined,
    };
  };
}

/** Resolves when the gateway calls every place. A breaker that is open lets a probe through about once a second. */
async function closeBreakers(gateway: URL, places: ChainedPlaces): Promise<void> {
  const probed = new Set<number>();
  for (let user = 0; user < USERS; user++) {
    const one = { user: `user-${user}`, team: "" };
    const place = places.placeOf(await keyOf("plan", one));
    if (probed.has(place)) continue;
    probed.add(place);
    for (let isClosed = false; !isClosed; ) {
      const answer = await ask(new URL(LOOK, gateway), { headers: { "x-user": one.user } });
      await answer.body.dump();
      isClosed = answer.statusCode !== 503;
      if (!isClosed) await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

/** Sends all from this one on. @param isInterrupted whether a place is interrupted meanwhile. */
async function sendAtOnce(
  places: ChainedPlaces,
  all: readonly Sent[],
  from: number,
  agent: Agent,
  isInterrupted: boolean,
): Promise<void> {
  let open = all.length - from;
  const interruptsAt = open / 2;
  let interrupted: Promise<void> | undefined;
  const send = async (n: number) => {
    const { path, user, team, id } = all[n]!;
    const answer = await ask(new URL(path, places.gateways[n % places.gateways.length]), {
      dispatcher: agent,
      headers: {
        ...{ "x-n": String(n), "x-user": user, "x-team": team },
        ...(id !== undefined && { "idempotency-key": id }),
      },
    });
    await answer.body.dump();
    Object.assign(all[n]!, { status: answer.statusCode, answeredAtMs: Date.now() });
    if (--open < interruptsAt && isInterrupted) interrupted ??= places.interrupt();
  };
  await Promise.all(all.slice(from).map((_, i) => send(from + i)));
  await interrupted;
}

const hash = partitionHasher(KEY_SECRET, "");
const keyOf = async (name: string, { user, team }: Pick<Sent, "user" | "team">) => {
  const kinds: Record<string, { kind: string; values: string[] }> = {
    plan: { kind: "header:x-user", values: [user] },
    team: { kind: "header:x-team", values: [team] },
  };
  return storeKey(name, await hash(kinds[name] ?? GLOBAL));
};
/** As the gateway hashes it: the id with its source, the method, the path and the cost. */
const idOf = async ({ id, path }: Sent) => {
  return await hash({ kind: "once", values: ["header:idempotency-key", String(id), "GET", path, "1"] });
};

const isIdKey = (key: string) => key.includes("!");
/** What such a call has charged stays, or what it should have given back does. */
const isUnknown = ({ outcome, isGiveBack }: ScriptCall) => outcome === "unheard" || (isGiveBack && outcome !== "heard");

async function compare(
  places: ChainedPlaces,
  sent: readonly Sent[],
  paidBy: ReadonlyMap<number, string>,
  limits: Record<Name, number>,
): Promise<Told> {
  const wrong: string[] = [];
  const { calls, faults } = await places.calls();
  const unknown = calls.filter(isUnknown);
  // Each policy and each of its keys.
  const paid = new Map<string, number>();
  const add = (key: string) => paid.set(key, (paid.get(key) ?? 0) + 1);
  const known = new Set<string>();
  const clients = new Set<string>();
  for (const [n, one] of sent.entries()) {
    const keys = await Promise.all(LINKS.map((name) => keyOf(name, one)));
    for (const key of keys) known.add(key);
    if (new Set(keys.map(places.placeOf)).size === LINKS.length) clients.add(one.user);
    const payer = paidBy.get(n);
    if ((one.status === 200) !== (payer !== undefined)) wrong.push(`request ${n}: ${one.status}, paid by ${payer}`);
    if (![200, 429, 503].includes(one.status)) wrong.push(`request ${n}: status ${one.status}`);
    if (payer === undefined) continue;
    const link = LINKS.indexOf(payer as (typeof LINKS)[number]);
    if (link < 0) wrong.push(`request ${n}: paid by ${payer}`);
    else add(keys[link]!);
    if (one.path === NARROW) add(await keyOf(BESIDE, one));
  }
  known.add(await keyOf(BESIDE, sent[0]!));
  const policies = Object.fromEntries(
    NAMES.map((name) => {
      const most = unknown.filter(({ keys }) => keys.some((key) => policyOf(key) === name)).length;
      return [name, { paid: 0, units: 0, most }];
    }),
  ) as Record<Name, { paid: number; units: number; most: number }>;
  for (const key of known) {
    const name = policyOf(key) as Name;
    const units = await unitsOf(places, key, limits[name]);
    const admitted = paid.get(key) ?? 0;
    if (units < admitted) wrong.push(`${key}: ${units} units for ${admitted} admitted requests`);
    if (Math.max(units, admitted) > limits[name]) wrong.push(`${key}: ${units} units, limit ${limits[name]}`);
    policies[name].paid += admitted;
    policies[name].units += units;
  }
  // Each request that has an id.
  const callsOf = Map.groupBy(
    calls.flatMap((call) => call.keys.filter(isIdKey).map((key) => [key, call] as const)),
    ([key]) => key,
  );
  const charged = Map.groupBy(await places.ids(), (key) => key.split("!")[1]!);
  let stayed = 0;
  for (const [n, one] of sent.entries()) {
    if (one.id === undefined) continue;
    const id = await idOf(one);
    const stored = charged.get(id) ?? [];
    charged.delete(id);
    const payer = paidBy.get(n);
    const is = stored.map(policyOf).filter((name) => name !== BESIDE);
    if (is.length > 1) wrong.push(`request ${n}: charged ${is.join(" and ")}`);
    if (payer !== undefined) {
      const expected = [payer, ...(one.path === NARROW ? [BESIDE] : [])];
      const keys = await Promise.all(expected.map(async (name) => `${await keyOf(name, one)}!${id}`));
      if (keys.toSorted().join() !== stored.toSorted().join()) {
        wrong.push(`request ${n}: ${expected.join(" and ")} paid, charged ${stored.join(" and ")}`);
      }
      continue;
    }
    for (const key of stored) {
      const own = (callsOf.get(key) ?? []).map(([, call]) => call);
      if (own.some(isUnknown)) continue;
      const isSent = own.some(({ isGiveBack }) => isGiveBack);
      if (isSent || !places.wasOpen(n % places.gateways.length, places.placeOf(key), one.answeredAtMs)) {
        wrong.push(`request ${n}: ${one.status}, charged ${key} for no reason`);
      }
      policies[policyOf(key) as Name].most++;
      stayed++;
    }
  }
  for (const id of charged.keys()) wrong.push(`an id that nobody sent: ${id}`);

  let extra = 0;
  for (const name of NAMES) {
    const one = policies[name];
    one.most += one.paid;
    if (one.units > one.most) wrong.push(`${name}: ${one.units} units, expected at most ${one.most}`);
    if (name !== BESIDE) extra += one.units - one.paid;
  }
  if (extra > unknown.length + stayed) wrong.push(`${extra} units too many, expected ${unknown.length + stayed}`);

  const statuses: Record<number, number> = {};
  for (const { status } of sent) statuses[status] = (statuses[status] ?? 0) + 1;
  return { statuses, calls: calls.length, faults, policies, spread: clients.size, stayed, wrong };
}

async function unitsOf(places: ChainedPlaces, key: string, limit: number): Promise<number> {
  const spec = { kind: Kind.whole, limit, bucketMs: WINDOW_MS / BUCKETS, buckets: BUCKETS } as const;
  const reply = await places.take({ keys: [keyRequest(key, [spec], { cost: 0 })], flag: Flag.look });
  return firstWindow(reply).counts.reduce((sum, count) => sum + count, 0);
}
