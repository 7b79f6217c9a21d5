/** Runs scenarios on all processors. This file is also the worker: it gets a scenario and returns what it measured. */

import { availableParallelism } from "node:os";
import { isMainThread, parentPort, Worker } from "node:worker_threads";
import { type Measured, type Scenario, simulate } from "./run.ts";

/** @param onDone is called with the number of finished runs. @returns the results in the order of the scenarios. */
export async function runAll(scenarios: readonly Scenario[], onDone: (done: number) => void): Promise<Measured[]> {
  const measured: Measured[] = [];
  let next = 0;
  let done = 0;
  const work = async () => {
    const worker = new Worker(new URL(import.meta.url));
    try {
      while (next < scenarios.length) {
        const at = next++;
        measured[at] = await ask(worker, scenarios[at]!);
        onDone(++done);
      }
    } finally {
      await worker.terminate();
    }
  };
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), scenarios.length) }, work));
  return measured;
}

function ask(worker: Worker, scenario: Scenario): Promise<Measured> {
  return new Promise((resolve, reject) => {
    worker.once("message", (message: Measured) => {
      worker.off("error", reject);
      resolve(message);
    });
    worker.once("error", reject);
    worker.postMessage(scenario);
  });
}

if (!isMainThread && parentPort) {
  const port = parentPort;
  port.on("message", async (scenario: Scenario) => port.postMessage(await simulate(scenario)));
}
