// Gateways as built over the Durable Objects of another Worker, all in one Miniflare.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { convertV4MiniflareOptions, Miniflare, type V4MiniflareOptions } from "miniflare";
import { inject, onTestFinished } from "vitest";
import { bundleWorker, COUNTS, compatibility } from "./counts-worker.ts";

/** The Worker that has the objects. */
const OBJECTS = "counts";
/** How a Worker in Miniflare binds the class of the metrics, as wrangler.toml does. */
const STATS = { STATS: { className: "HeadgateStats", useSQLite: true } };

/** The Workers' names are the hosts that they answer for, in `.example`: `a.example`, and `counts.example`. */
export interface Gateways {
  readonly miniflare: Miniflare;
  /** Where Miniflare listens. The field `Host` tells which Worker is asked. */
  readonly url: URL;
}

export interface GatewaysOptions {
  /** The Worker with the objects has the class HeadgateStats, and not HeadgateCounts. */
  readonly stats?: boolean;
  /** Further bindings of a gateway. */
  readonly bindingsOf?: (name: string) => object;
  /** Gets what the gateways write to the console. Default: nobody reads it. */
  readonly onLog?: (message: string) => void;
}

/**
 * Starts gateways of these names for the running test, each an isolate of its own.
 *
 * @param objects a Worker of test/worker: it has the class of the objects.
 */
export async function startGateways(
  names: readonly string[],
  objects: string,
  policies: readonly object[],
  { stats = false, bindingsOf = () => ({}), onLog = () => {} }: GatewaysOptions = {},
): Promise<Gateways> {
  const gateway = readFileSync(join(inject("workerDirectory"), "worker.js"), "utf8");
  const worker = (name: string, contents: string) => ({
    ...{ name, routes: [`${name}.example/*`], ...compatibility() },
    modules: [{ type: "ESModule", path: "worker.js", contents }],
  });
  const classes: Readonly<Record<string, object>> = stats ? STATS : COUNTS;
  const elsewhere = Object.fromEntries(
    Object.entries(classes).map(([name, bound]) => [name, { ...bound, scriptName: OBJECTS }]),
  );
  const workers = [
    ...names.map((name) => ({
      ...worker(name, gateway),
      durableObjects: elsewhere,
      bindings: { POLICIES: policies, REDIS_TIMEOUT_MS: 10_000, ...bindingsOf(name) },
    })),
    { ...worker(OBJECTS, await bundleWorker(objects)), durableObjects: classes },
  ];
  const handleStructuredLogs = ({ message }: { readonly message: string }) => onLog(message);
  const options = { cf: false, workers, handleStructuredLogs } as unknown as V4MiniflareOptions;
  const miniflare = new Miniflare(convertV4MiniflareOptions(options));
  onTestFinished(() => miniflare.dispose());
  return { miniflare, url: await miniflare.ready };
}
