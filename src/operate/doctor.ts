/** `/.headgate/admin/doctor`: what `headgate doctor` cannot see from outside. It finds out and judges nothing. */

import type { ClientIp } from "../kernel/config/client-ip.ts";
import type { Settings } from "../kernel/config/settings.ts";
import { ENFORCED, Flag, KEY_PREFIX, Kind } from "../kernel/core/layout.ts";
import type { Policy } from "../kernel/core/policy.ts";
import type { TakeRequest } from "../kernel/core/take.ts";
import { placesOf, sixAtATime } from "../kernel/limiter/takers.ts";
import { lossWarningOf } from "../kernel/place/isolate.ts";
import { addressText, type ReadAddress } from "../kernel/request/sources.ts";
import { failureOf } from "../kernel/store/failure.ts";
import { TAKE } from "../kernel/store/redis/script.generated.ts";
import { evictionOf } from "../kernel/store/redis.ts";
import type { Store } from "../kernel/store/store.ts";
import { VERSION } from "../kernel/version.ts";

/** A place that holds counts. */
export interface PlaceFacts {
  readonly name: string;
  /** The round trip of one call that counts nothing, in whole milliseconds. Absent: it has no answer. */
  readonly latencyMs?: number;
  /** How far its clock is ahead of the gateway's, ms, accurate to half of `latencyMs`. */
  readonly aheadMs?: number;
  /** By which policy a Redis forgets keys when it is full. Absent: it does not say, or is no Redis. */
  readonly eviction?: string | undefined;
  /** Why it has no answer (`StoreErrorCode`). */
  readonly error?: string;
  /** It has lost counts, as far as this instance has seen. */
  readonly warning?: string | undefined;
}

/** The request that asked, as a policy with the key `ip` sees it. */
export interface ClientFacts {
  /** `CLIENT_IP`. Null: absent. */
  readonly clientIp: ClientIp | null;
  /** The address that would be counted. Null: none, and it counts together with all others that have none. */
  readonly address: string | null;
  /** `X-Forwarded-For`. */
  readonly forwardedFor: string | null;
}

export interface DoctorFacts {
  readonly version: string;
  /** The SHA-1 of the script that Redis runs. */
  readonly script: string;
  readonly store: string;
  /** The time budget of a decision, ms. Null: the counts are in memory. */
  readonly timeoutMs: number | null;
  readonly hasKeySecret: boolean;
  /** By what each policy counts. */
  readonly policies: readonly Pick<Policy, "name" | "key">[];
  /** At most 12. */
  readonly places: readonly PlaceFacts[];
  /** How many places were not asked. */
  readonly omitted: number;
  /** Null: nobody has sent a request. */
  readonly client: ClientFacts | null;
  /** The gateway's clock when all else was known, ms since the epoch. */
  readonly atMs: number;
}

/** The places of a store, as operators know them. */
export type NamedPlaces = readonly (readonly [name: string, Store])[];

/** The name of a Redis as `REDIS_NODES` has it, the number of an object of several, or the kind of the store. */
export function namedPlaces({ redis }: Settings, store: Store): NamedPlaces {
  const places = placesOf(store);
  const nameOf = (at: number) => redis?.nodes[at]?.name ?? (places.length === 1 ? store.kind : `shard ${at}`);
  return places.map((place, at) => [nameOf(at), place]);
}

/** A place takes up to four calls: one may bring the script. Cloudflare's free plan allows a request 50 (2026-11). */
const MOST_ASKED = 12;

export async function doctorFacts(
  settings: Settings,
  store: Pick<Store, "kind" | "timeoutMs">,
  places: NamedPlaces,
  client: ClientFacts | null,
): Promise<DoctorFacts> {
  const found: PlaceFacts[] = [];
  await sixAtATime(places.slice(0, MOST_ASKED), async ([name, place]) => {
    found.push({ name, warning: lossWarningOf(place), ...(await askPlace(place, settings.namespace)) });
  });
  return {
    version: VERSION,
    script: TAKE.sha1,
    store: store.kind,
    timeoutMs: store.timeoutMs ?? null,
    hasKeySecret: settings.keySecret !== undefined,
    policies: settings.policies.map(({ name, key }) => ({ name, key })),
    places: found,
    omitted: places.length - found.length,
    client,
    atMs: Date.now(),
  };
}

/** Peeks at a key that nobody counts under: the reply has the clock of the place. */
async function askPlace(place: Store, namespace: string): Promise<Omit<PlaceFacts, "name" | "warning">> {
  const prefix = namespace === "" ? KEY_PREFIX : `${KEY_PREFIX}${namespace}:`;
  const limit = { kind: Kind.fixedWindow, limit: 1, windowMs: 1_000 } as const;
  const key = { key: `${prefix}{doctor:}`, group: ENFORCED, cost: 0, limits: [limit] };
  const request: TakeRequest = { keys: [key], flag: Flag.look };
  try {
    // The first call may have to connect, and to bring the script.
    await place.take(request);
    const eviction = await evictionOf(place);
    const startMs = Date.now();
    const { nowMs } = await place.take(request);
    const latencyMs = Date.now() - startMs;
    return { latencyMs, aheadMs: nowMs - startMs - latencyMs / 2, eviction };
  } catch (error) {
    return { error: failureOf(error).code };
  }
}

export function clientFacts(
  request: Request,
  clientIp: ClientIp | undefined,
  addressOf: ReadAddress | undefined,
): ClientFacts {
  const address = addressOf ? addressOf(request) : addressText(request.headers);
  return {
    clientIp: clientIp ?? null,
    address: address ?? null,
    forwardedFor: request.headers.get("X-Forwarded-For"),
  };
}
