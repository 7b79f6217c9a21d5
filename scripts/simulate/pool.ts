/** Runs scenarios on all processors. */

import { availableParallelism } from "node:os";
import { parentPort, Worker } from "node:worker_threads";

/**
 * @param file of the worker: it calls `serve`. @param onDone is called with the number of finished runs.
 * @returns the results in the order of the scenarios.
 */
export async function runAll<Scenario, Measured>(
  file: URL,
  scenarios: readonly Scenario[],
  onDone: (done: number) => void,
): Promise<Measured[]> {
  const measured: Measured[] = [];
  let next = 0;
  let done = 0;
  const work = async () => {
    const worker = new Worker(file);
    try {
      while (next < scenarios.length) {
        const at = next++;
        measured[at] = await ask<Scenario, Measured>(worker, scenarios[at]!);
        onDone(++done);
      }
    } finally {
      await worker.terminate();
    }
  };
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), scenarios.length) }, work));
  return measured;
}

function ask<Scenario, Measured>(worker: Worker, scenario: Scenario): Promise<Measured> {
  return new Promise((resolve, reject) => {
    worker.once("message", (message: Measured) => {
      worker.off("error", reject);
      resolve(message);
    });
    worker.once("error", reject);
    worker.postMessage(scenario);
  });
}

/** In a worker: answers each scenario with what it measured. */
export function serve<Scenario, Measured>(simulate: (scenario: Scenario) => Promise<Measured>): void {
  const port = parentPort!;
  port.on("message", async (scenario: Scenario) => port.postMessage(await simulate(scenario)));
}
