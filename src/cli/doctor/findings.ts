/** What `headgate doctor` says about what it has seen. No I/O. */

import { isTable } from "../../kernel/config/bindings.ts";
import { kindsRead } from "../../kernel/config/fields/key.ts";
import { countedAddress } from "../../kernel/request/address.ts";
import type { ClientFacts, DoctorFacts, PlaceFacts } from "../../operate/doctor.ts";
import type { Body } from "../admin/api.ts";

/** What was seen of a gateway, or of the store that a configuration names. */
export interface Seen {
  /** Of this command line. */
  readonly version: string;
  readonly script: string;
  /** The gateway runs on this machine. */
  readonly isHere: boolean;
  /** `/.headgate/health`. Absent: no gateway was asked, only the store of a configuration. */
  readonly health?: Body;
  /** Absent: the admin API was not asked, or refused. */
  readonly facts?: DoctorFacts;
  /** Why there are no facts. Absent: there was no token. */
  readonly refused?: string;
  /** How far the gateway's clock is ahead of this machine's, and how wrong that may be, ms. */
  readonly clock?: { readonly aheadMs: number; readonly accuracyMs: number };
}

export interface Finding {
  /** A problem is what the exit code tells. */
  readonly level: "ok" | "note" | "problem";
  readonly about: "configuration" | "store" | "eviction" | "clock" | "key secret" | "client" | "versions" | "access";
  readonly says: string;
  /** What to do about it. */
  readonly todo?: string;
}

/** Windows and waits are by the store's clock: a smaller difference changes nothing that anybody would notice. */
const CLOCK_MS = 2_000;

export function findingsOf(seen: Seen): Finding[] {
  const { facts, health } = seen;
  const found = health ? [...healthFindings(health, facts === undefined), ...versionFindings(seen)] : [];
  if (facts) {
    const byName = facts.places.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    const places = byName.flatMap((place) => placeFindings(place, facts, health !== undefined));
    found.push(...storeFindings(facts), ...places, ...(seen.health ? secretFindings(facts, seen.isHere) : []));
    if (facts.client) found.push(...clientFindings(facts.client, countedByAddress(facts), seen.isHere));
  } else if (health?.status !== "misconfigured") {
    found.push(accessFinding(seen.refused));
  }
  const wrongClock = { level: "note", todo: "Set the one that is wrong by NTP." } as const;
  if (seen.clock) found.push(clockFinding("The gateway's clock", "this machine's", seen.clock, wrongClock));
  return found;
}

/** @param isPublic the store is known by the health page alone. */
function healthFindings({ status, mistakes, notes, store, ...health }: Body, isPublic: boolean): Finding[] {
  const about = "configuration";
  const todo = "`npx headgate check --deployed` says what was expected.";
  const tables = Array.isArray(mistakes) ? mistakes.filter(isTable) : [];
  const found: Finding[] = tables.map(({ path, code }) => {
    return { level: "problem", about, says: `${path} has a mistake (${code}): the gateway serves nothing.`, todo };
  });
  for (const note of Array.isArray(notes) ? notes.map(String) : []) {
    // The live document is not obeyed.
    found.push({ level: note.startsWith("live: ") ? "problem" : "note", about, says: `${note}.` });
  }
  if (!isPublic || status === "misconfigured") return found;
  if (store === "memory") return [...found, IN_MEMORY];
  const shown = health.redis ?? health.counts;
  if (!isTable(shown)) return found;
  const places = Array.isArray(shown.places) ? shown.places.filter(isTable) : [shown];
  for (const { name = store, reachable, latencyMs, error, warning, breaker } of places) {
    if (reachable !== true || breaker === "open") found.push(away(String(name), String(error ?? "OPEN")));
    else found.push({ level: "ok", about: "store", says: `${name} answers the gateway in ${latencyMs} ms.` });
    if (warning !== undefined) found.push({ level: "problem", about: "eviction", says: `${name}: ${warning}.` });
  }
  return found;
}

function versionFindings({ version, script, health, facts }: Seen): Finding[] {
  const about = "versions";
  const found = String(facts?.version ?? health?.version);
  if (found !== version) {
    const says = `The gateway is version ${found}, and this command line ${version}.`;
    return [{ level: "note", about, says, todo: `Use the command line of that version: npx headgate@${found}.` }];
  }
  if (facts && facts.script !== script) {
    const says = `The gateway is version ${version} too, but its script is another one (${facts.script.slice(0, 12)}).`;
    return [{ level: "problem", about, says, todo: "Deploy the gateway from an unchanged package." }];
  }
  const ofScript = facts ? ` (script ${script.slice(0, 12)})` : "";
  return [{ level: "ok", about, says: `Gateway and command line are both version ${version}${ofScript}.` }];
}

const IN_MEMORY: Finding = {
  level: "problem",
  about: "store",
  says: "Counts are in memory: each instance allows every client the whole limit, and forgets it when it ends.",
  todo: "Bind the Durable Object COUNTS, or name a Redis.",
};

function away(name: string, code: string): Finding {
  const says = `${name} has no answer (${code}): each policy does what its onStoreFailure says.`;
  const todo =
    code === "UNAUTHORIZED"
      ? "Set the secret with its token again."
      : "See whether it runs, and whether its URL is right.";
  return { level: "problem", about: "store", says, todo };
}

function storeFindings({ store, places, omitted }: DoctorFacts): Finding[] {
  if (store === "memory") return [IN_MEMORY];
  const about = "store";
  if (places.length === 0) {
    const says = `The store (${store}) can't be asked from here.`;
    return [{ level: "note", about, says, todo: "Start the gateway, and name its URL: headgate doctor <url>." }];
  }
  return omitted === 0 ? [] : [{ level: "note", about, says: `${omitted} more places were not asked.` }];
}

function placeFindings(place: PlaceFacts, { store, timeoutMs }: DoctorFacts, isGateway: boolean): Finding[] {
  if (store === "memory") return [];
  const { name, latencyMs, aheadMs, eviction, error, warning } = place;
  const found: Finding[] = [];
  if (warning !== undefined) found.push({ level: "problem", about: "eviction", says: `${name}: ${warning}.` });
  if (latencyMs === undefined || aheadMs === undefined) return [...found, away(name, String(error))];
  const answers = `${name} answers ${isGateway ? "the gateway" : "this machine"} in ${latencyMs} ms`;
  if (isGateway && timeoutMs !== null && latencyMs > timeoutMs / 2) {
    const says = `${answers}, and a decision may wait ${timeoutMs} ms: slow replies will be lost.`;
    const todo = "Move it closer, or raise REDIS_TIMEOUT_MS.";
    found.push({ level: "problem", about: "store", says, todo });
  } else {
    found.push({ level: "ok", about: "store", says: `${answers}.` });
  }
  const whose = isGateway ? "the gateway's" : "this machine's";
  const todo = "Set the clock that is wrong by NTP: windows are by the store's, ends of overrides by the gateway's.";
  const clock = { aheadMs, accuracyMs: latencyMs / 2 };
  found.push(clockFinding(`The clock of ${name}`, whose, clock, { level: "problem", todo }));
  return store === "redis" ? [...found, evictionFinding(name, eviction)] : found;
}

function evictionFinding(name: string, policy: string | undefined): Finding {
  const about = "eviction";
  if (policy === "noeviction") return { level: "ok", about, says: `${name} forgets no counts when it is full.` };
  if (policy === undefined) {
    const says = `The eviction policy of ${name} could not be read, because it doesn't answer INFO.`;
    return { level: "note", about, says, todo: "See in its console that eviction is off (noeviction)." };
  }
  const says = `${name} forgets counts when it is full (${policy}), and clients then get more than their limits.`;
  return { level: "problem", about, says, todo: "Set maxmemory-policy to noeviction, or turn eviction off." };
}

function secretFindings({ hasKeySecret, store }: DoctorFacts, isHere: boolean): Finding[] {
  if (store === "memory") return [];
  const about = "key secret";
  if (hasKeySecret) return [{ level: "ok", about, says: "KEY_SECRET is set." }];
  const todo = "npx wrangler secret put KEY_SECRET. All counts start at zero once.";
  if (store === "redis") {
    const says = "KEY_SECRET is not set: a new token of Redis will start all counts at zero.";
    return [{ level: isHere ? "note" : "problem", about, says, todo }];
  }
  const says = "KEY_SECRET is not set: who can see the object's id can find out whose counts are stored.";
  return [{ level: "note", about, says, todo }];
}

/** Of the doctor's own request, which had no `X-Forwarded-For` when it left. */
function clientFindings(client: ClientFacts, byAddress: readonly string[], isHere: boolean): Finding[] {
  const about = "client";
  const who =
    byAddress.length === 0 ? "No policy counts by address" : `These policies count by address: ${byAddress.join(", ")}`;
  const wrong = wrongAddress(client, isHere);
  // From this machine to this machine there may be no proxy that is there otherwise.
  if (wrong) return [{ level: isHere || byAddress.length === 0 ? "note" : "problem", about, ...wrong }];
  const from = client.clientIp === null ? "CF-Connecting-IP" : JSON.stringify(client.clientIp);
  return [{ level: "ok", about, says: `${who}. This request came from ${client.address} (${from}).` }];
}

function countedByAddress({ policies }: DoctorFacts): string[] {
  const isAddress = (kind: string) => kind.split("+").some((part) => /^ip(4?\/\d+)?$/.test(part));
  return policies.filter(({ key }) => kindsRead(key).some(isAddress)).map(({ name }) => name);
}

function wrongAddress(client: ClientFacts, isHere: boolean): Pick<Finding, "says" | "todo"> | undefined {
  const { clientIp, address } = client;
  const forwardedFor = client.forwardedFor?.split(/[,\s]+/).filter(Boolean) ?? [];
  const listed = forwardedFor.length === 0 ? "no X-Forwarded-For" : `X-Forwarded-For: ${forwardedFor.join(", ")}`;
  const { header = "CF-Connecting-IP" } = typeof clientIp === "object" ? (clientIp ?? {}) : {};
  if (address === null) {
    const says = `This request has no client address in ${header}: all such requests count as one client.`;
    return { says, todo: `Set CLIENT_IP to what your proxy writes. The request had ${listed}.` };
  }
  if (isPrivate(address) && !isHere) {
    const says = `This request counts for ${address}, a private address: probably that of a proxy, so all clients are one.`;
    return { says, todo: `Set CLIENT_IP to what your proxy writes. The request had ${listed}.` };
  }
  // The first proxy has written the first entry: the address of this machine.
  const [first = address] = forwardedFor;
  if (countedAddress(first) === countedAddress(address)) return undefined;
  const says = `This request came through more proxies than CLIENT_IP says (${listed}), and counts for ${address}.`;
  const todo = `If they are yours: CLIENT_IP = { header = "x-forwarded-for", hops = ${forwardedFor.length} }.`;
  return { says, todo };
}

function isPrivate(address: string): boolean {
  return /^(?:127\.|10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|::1$|f[cd])/i.test(address);
}

function accessFinding(refused: string | undefined): Finding {
  const about = "access";
  if (refused !== undefined) {
    const todo = "See whether HEADGATE_TOKEN is its ADMIN_TOKEN, and whether this command line has its version.";
    return { level: "problem", about, says: `The admin API could not be asked: ${refused}`, todo };
  }
  const says =
    "Without a token the eviction policy, the key secret, the store's clock and addresses were not looked at.";
  return { level: "note", about, says, todo: "Set HEADGATE_TOKEN to the gateway's ADMIN_TOKEN." };
}

/** @param wrong what it is if they differ. */
function clockFinding(
  clock: string,
  whose: string,
  { aheadMs, accuracyMs }: NonNullable<Seen["clock"]>,
  wrong: Pick<Finding, "level" | "todo">,
): Finding {
  const about = "clock";
  if (Math.abs(aheadMs) - accuracyMs <= CLOCK_MS) return { level: "ok", about, says: `${clock} agrees with ${whose}.` };
  const apart = `${(Math.abs(aheadMs) / 1_000).toFixed(1)} s ${aheadMs > 0 ? "ahead of" : "behind"}`;
  return { ...wrong, about, says: `${clock} is ${apart} ${whose}.` };
}
