// Finds the store for `npm start`: where `wrangler dev` will see UPSTASH_REDIS_REST_URL or REDIS_NODES, and which
// variables come from the environment, where wrangler would not see them.

import {
  type BindingSources,
  deployedRedis,
  lookUp,
  type NamedRedis,
  namedRedis,
  redisNames,
} from "../../src/cli/wrangler/bindings.ts";

export interface ConfiguredStore {
  /** Every Redis that is configured. None: no source names one that can be used here. */
  found: readonly NamedRedis[];
  /** Those in wrangler.toml that cannot be used here, because their tokens are not on this machine. */
  unusable: readonly NamedRedis[];
  /** Whether the Durable Object `COUNTS` is bound. */
  hasCounts: boolean;
  /** Variables of the environment, which wrangler does not pass on. */
  handedOn: Readonly<Record<string, string>>;
}

/** Each name is looked up by itself. The first source that has it wins. An empty value counts as absent. */
export function findConfiguredStore({ sources, bound }: BindingSources): ConfiguredStore {
  const hasCounts = bound.objects.includes("COUNTS");
  const unusable = deployedRedis(sources);
  if (unusable.length > 0) return { found: [], unusable, hasCounts, handedOn: {} };
  const found = namedRedis(sources);
  const handedOn: Record<string, string> = {};
  for (const name of redisNames(sources)) {
    const { value, source } = lookUp(sources, name) ?? {};
    if (value !== undefined && source === "the environment") handedOn[name] = value;
  }
  return { found, unusable, hasCounts, handedOn };
}
