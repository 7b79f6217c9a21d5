/**
 * Faults that are planted one at a time, to test the stories of missed.ts: each is a mending taken out again.
 *
 * `node test/kernel/limiter/fuzz/planted.ts NAME` lives through the stories with that fault, and exits with 1 if none
 * of them shows it.
 */

import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { type Fault, replaceSources } from "../../../../scripts/verify/interleavings/replace.ts";

export const PLANTED: readonly Fault[] = [
  {
    name: "a take drops the counts of another configuration",
    file: "kernel/core/records.ts",
    was: "    carried.push(record);\n",
    is: "",
  },
  {
    name: "two namespaces have the same keys",
    file: "kernel/limiter/store-key.ts",
    was: 'namespace = "")',
    is: '_ = "", namespace = "")',
  },
  {
    name: "late replies let nothing pass",
    file: "kernel/place/flows/repay.ts",
    was: "if (!isTelling && (",
    is: "if (!isTelling && !isLate && (",
  },
  {
    name: "units that could not be given back are forgotten",
    file: "kernel/place/give-backs.ts",
    was: "const keys = notRun ? request.keys : request.slot",
    is: "const keys = request.slot",
  },
  {
    name: "a refusal of the moment is taken for one for ever",
    file: "kernel/place/flows/repay.ts",
    was: ' && !(code === "REDIS" && notRun);',
    is: ";",
  },
  {
    name: "nobody returns the units of keys that nobody asks for",
    file: "features/leases/return-units.ts",
    was: "if (memory.leased.size === 0 ||",
    is: "if (memory.leased.size >= 0 ||",
  },
];

const STORIES = 400;

async function isFound(fault: Fault): Promise<boolean> {
  replaceSources(fault, false);
  const { differences, missedStories } = await import("./missed.ts");
  for (const story of fc.sample(missedStories(), { numRuns: STORIES, seed: 14 })) {
    const [found] = await differences(story);
    if (found === undefined) continue;
    console.log(found);
    return true;
  }
  return false;
}

const [, script, name] = process.argv;
if (script === fileURLToPath(import.meta.url)) {
  process.exit((await isFound(PLANTED.find((one) => one.name === name)!)) ? 0 : 1);
}
