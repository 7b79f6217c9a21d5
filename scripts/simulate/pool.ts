/** Runs scenarios on all processors. This file is also what the threads run. */

import { availableParallelism } from "node:os";
import { parentPort, Worker, workerData } from "node:worker_threads";

/**
 * Shows the progress on stderr.
 *
 * @param program its name in the progress. @param simulation the file that exports `simulate`. @param scenarios the
 * longest first, so that no long run begins at the end.
 * @returns the results in the order of the scenarios.
 */
export async function runAll<Scenario, Measured>(
  program: string,
  simulation: URL,
  scenarios: readonly Scenario[],
): Promise<Measured[]> {
  const measured: Measured[] = [];
  let next = 0;
  let done = 0;
  const show = () => process.stderr.write(`\r${program}: ${done} of ${scenarios.length} runs`);
  const work = async () => {
    const worker = new Worker(new URL(import.meta.url), { workerData: { simulation: simulation.href } });
    try {
      while (next < scenarios.length) {
        const at = next++;
        measured[at] = await ask<Scenario, Measured>(worker, scenarios[at]!);
        done++;
        show();
      }
    } finally {
      await worker.terminate();
    }
  };
  show();
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), scenarios.length) }, work));
  process.stderr.write("\n");
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

if (workerData !== null) {
  const { simulate } = await import(workerData.simulation);
  parentPort!.on("message", async (scenario) => parentPort!.postMessage(await simulate(scenario)));
}
