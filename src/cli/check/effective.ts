/** The configuration as the Worker understands it: defaults filled in, secrets hidden. */

import { writePolicy } from "../../config/policies.ts";
import type { Settings } from "../../config/settings.ts";
import type { StoreSettings } from "../../config/store.ts";
import { DEPLOYED_TOKEN } from "../wrangler/read-bindings.ts";

export function effective({
  policies,
  redis,
  counts,
  origin,
  region,
  regions,
  keySecret,
  admin,
  assets,
  ...rest
}: Settings): unknown {
  return {
    store: storeOf({ redis, counts }),
    origin: origin.kind === "url" ? { kind: "url", url: origin.url.href } : { kind: origin.kind },
    region: region ?? "by request",
    regions,
    keySecret:
      keySecret !== undefined ? "(hidden)" : `derived from ${redis ? "the Redis token" : "the id of an object"}`,
    ...rest,
    admin: admin ? { ...admin, ...(admin.token !== undefined && { token: "(hidden)" }) } : "none",
    console: admin && assets ? "/.headgate/console" : "none",
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
