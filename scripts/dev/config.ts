/**
 * `npm run config [-- --env NAME --var NAME:VALUE …]`: prints the configuration as the Worker understands it, with
 * defaults filled in and secrets hidden, or every mistake in it. It starts nothing. Exit status: 0 without mistakes, 1
 * with mistakes.
 */

import { describeMistake } from "../../src/config/mistake.ts";
import { writePolicy } from "../../src/config/policies.ts";
import { parseSettings, type Settings } from "../../src/config/settings.ts";
import type { StoreSettings } from "../../src/config/store.ts";
import { policyWarnings } from "../../src/config/warnings.ts";
import { DEPLOYED_TOKEN, readBindings } from "./read-bindings.ts";

try {
  const parsed = parseSettings(readBindings(process.argv.slice(2)));
  if (parsed.mistakes) {
    console.error(`${parsed.mistakes.length} mistakes in the configuration:`);
    for (const mistake of parsed.mistakes) console.error(`- ${describeMistake(mistake)}`);
    process.exitCode = 1;
  } else {
    console.log(JSON.stringify(effective(parsed.value), null, 2));
    for (const warning of policyWarnings(parsed.value.policies)) console.error(`warning: ${warning}`);
  }
} catch (error) {
  console.error(`config: ${(error as Error).message}`);
  process.exitCode = 1;
}

function effective({ policies, redis, counts, origin, region, regions, keySecret, admin, ...rest }: Settings): unknown {
  return {
    store: storeOf({ redis, counts }),
    origin: origin.kind === "url" ? { kind: "url", url: origin.url.href } : { kind: origin.kind },
    region: region ?? "by request",
    regions,
    keySecret:
      keySecret !== undefined ? "(hidden)" : `derived from ${redis ? "the Redis token" : "the id of an object"}`,
    ...rest,
    admin: admin ? { ...admin, ...(admin.token !== undefined && { token: "(hidden)" }) } : "none",
    policies: policies.map(writePolicy),
  };
}

function storeOf({ redis, counts }: StoreSettings): unknown {
  if (redis) {
    const nodes = redis.nodes.map((node) => ({ ...node, token: shownToken(node.token) }));
    return { kind: "redis", ...redis, nodes };
  }
  if (!counts) return { kind: "memory" };
  const { namespace: _, ...shown } = counts;
  return { kind: "durable-object", ...shown };
}

function shownToken(token: string): string {
  return token === DEPLOYED_TOKEN ? "(a secret of the deployed Worker)" : "(hidden)";
}
