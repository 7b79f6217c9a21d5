// Several Redis for one gateway, and policies whose keys are known to lie in a certain one of them.

import { storeKey } from "../../../src/kernel/limiter/store-key.ts";
import { type ClientKey, partitionHasher } from "../../../src/kernel/request/hash.ts";
import { GLOBAL } from "../../../src/kernel/request/sources.ts";
import { rendezvous } from "../../../src/stores/rendezvous.ts";
import { uniqueName } from "./gateway.ts";

const KEY_SECRET = "a key secret of the operator";

interface Rest {
  readonly url: string;
  readonly token: string;
}

/**
 * The bindings of these nodes: `REDIS_NODES`, their tokens and `KEY_SECRET`. The live document lies on the one that
 * says so, or else on the first without a region.
 */
export function nodeBindings(
  nodes: Readonly<Record<string, Rest & { readonly region?: string; readonly live?: true }>>,
) {
  const names = Object.keys(nodes);
  const live = names.find((name) => nodes[name]!.live) ?? names.find((name) => nodes[name]!.region === undefined);
  const tokenOf = (name: string) => `REDIS_TOKEN_${name.toUpperCase().replaceAll("-", "_")}`;
  return {
    KEY_SECRET,
    REDIS_NODES: names.map((name) => ({ name, ...nodes[name]!, live: name === live, token: tokenOf(name) })),
    ...Object.fromEntries(names.map((name) => [tokenOf(name), nodes[name]!.token])),
  };
}

const hash = partitionHasher(KEY_SECRET, "");

/** A policy name for which the key of this client lies in `place`. Default: the key of all clients. */
export async function nameOn(place: string, places: readonly string[], key: ClientKey = GLOBAL): Promise<string> {
  const placeOf = rendezvous(places);
  const partition = await hash(key);
  for (;;) {
    const name = uniqueName(`on-${place}`);
    if (places[placeOf(storeKey(name, partition))] === place) return name;
  }
}
