// Gateways as built over the one Durable Object of another Worker, all in one workerd.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { inject, onTestFinished } from "vitest";
import { startWorkerd } from "../gateway/workerd.ts";
import { bundleWorker } from "./counts-worker.ts";

/** The Worker that has the object. */
const OBJECTS = "counts";

/**
 * Starts gateways of these names for the running test, each an isolate of its own.
 *
 * @param objects a Worker of test/worker: its class HeadgateCounts is the object.
 * @returns the URL of each gateway by its name, and that of the Worker with the object: `counts`.
 */
export async function startGateways(
  names: readonly string[],
  objects: string,
  policies: readonly object[],
): Promise<Readonly<Record<string, URL>>> {
  const code = readFileSync(join(inject("workerDirectory"), "worker.js"), "utf8");
  const bindings = { POLICIES: policies, REDIS_TIMEOUT_MS: 10_000 };
  const { ports, stop } = await startWorkerd([
    { name: OBJECTS, code: await bundleWorker(objects), counts: true },
    ...names.map((name) => ({ name, code, bindings, counts: OBJECTS })),
  ]);
  onTestFinished(stop);
  return Object.fromEntries(Object.entries(ports).map(([name, port]) => [name, new URL(`http://127.0.0.1:${port}`)]));
}
