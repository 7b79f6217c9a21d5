// Gateways as built over the one Durable Object of another Worker, all in one Miniflare.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { convertV4MiniflareOptions, Miniflare, type V4MiniflareOptions } from "miniflare";
import { inject, onTestFinished } from "vitest";
import { bundleWorker, COUNTS, compatibility } from "./counts-worker.ts";

/** The Worker that has the object. */
const OBJECTS = "counts";
const ELSEWHERE = { COUNTS: { ...COUNTS.COUNTS, scriptName: OBJECTS } };

/** The Workers' names are the hosts that they answer for, in `.example`: `a.example`, and `counts.example`. */
export interface Gateways {
  readonly miniflare: Miniflare;
  /** Where Miniflare listens. The field `Host` tells which Worker is asked. */
  readonly url: URL;
}

/**
 * Starts gateways of these names for the running test, each an isolate of its own.
 *
 * @param objects a Worker of test/worker: its class HeadgateCounts is the object.
 */
export async function startGateways(
  names: readonly string[],
  objects: string,
  policies: readonly object[],
): Promise<Gateways> {
  const gateway = readFileSync(join(inject("workerDirectory"), "worker.js"), "utf8");
  const worker = (name: string, contents: string) => ({
    ...{ name, routes: [`${name}.example/*`], ...compatibility() },
    modules: [{ type: "ESModule", path: "worker.js", contents }],
  });
  const bindings = { POLICIES: policies, REDIS_TIMEOUT_MS: 10_000 };
  const workers = [
    ...names.map((name) => ({ ...worker(name, gateway), durableObjects: ELSEWHERE, bindings })),
    { ...worker(OBJECTS, await bundleWorker(objects)), durableObjects: COUNTS },
  ];
  // Nobody reads what the Workers write to the console.
  const options = { cf: false, workers, handleStructuredLogs() {} } as unknown as V4MiniflareOptions;
  const miniflare = new Miniflare(convertV4MiniflareOptions(options));
  onTestFinished(() => miniflare.dispose());
  return { miniflare, url: await miniflare.ready };
}
