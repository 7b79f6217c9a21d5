/** Environments of one file that count in the same store: what each does would reach the clients of the other. */

import { isTable } from "../../config/bindings.ts";
import type { Mistake } from "../../config/mistake.ts";
import { type Bound, boundIn, environmentsIn, type WranglerConfig } from "../wrangler/config-file.ts";

/**
 * Pairs with the chosen environment. A store whose address is a secret cannot be known here, and the objects of an
 * environment are its own unless it names the script that has them.
 */
export function sharedStores(config: WranglerConfig, chosen: string | undefined) {
  const mistakes: Mistake[] = [];
  const warnings: string[] = [];
  const own = boundIn(config, chosen);
  const stores = new Set(storesOf(own));
  const others = [undefined, ...Object.keys(environmentsIn(config))].filter((name) => name !== chosen);
  for (const name of others) {
    const other = boundIn(config, name);
    const shared = storesOf(other).find((store) => stores.has(store));
    const what = name === undefined ? "the environment without a name" : `env.${name}`;
    if (shared === undefined || textOf(own.vars.NAMESPACE) !== textOf(other.vars.NAMESPACE)) continue;
    if (textOf(own.vars.DEPLOYMENT) !== textOf(other.vars.DEPLOYMENT)) {
      warnings.push(`NAMESPACE: ${what} has the same, and counts in the same store (${shared}): both use up one limit`);
      continue;
    }
    const expected = `another NAMESPACE than ${what}, which counts in the same store (${shared})`;
    mistakes.push({ code: "ERR_NAMESPACE", path: "NAMESPACE", expected, found: "the same NAMESPACE and DEPLOYMENT" });
  }
  return { mistakes, warnings };
}

/** Where an environment counts, as far as the file says it. */
function storesOf({ vars, counts }: Bound): string[] {
  const nodes = Array.isArray(vars.REDIS_NODES) ? vars.REDIS_NODES : [];
  const urls = [vars.UPSTASH_REDIS_REST_URL, ...nodes.map((node) => (isTable(node) ? node.url : undefined))];
  const hosts = urls.flatMap((url) => (typeof url === "string" && URL.canParse(url) ? [new URL(url).host] : []));
  // With a Redis no object counts.
  return hosts.length > 0 || counts === undefined ? hosts : [`the objects of ${counts}`];
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
