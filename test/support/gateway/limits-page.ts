// A gateway in each of two regions, for the limits page.

import { startGateway } from "./gateway.ts";
import { TWO_REGIONS } from "./limits-policies.ts";

/** One gateway in each of two regions, on one Redis. */
export async function startTwoRegions(policies: readonly object[]) {
  const start = (cf: Record<string, unknown>) => startGateway({ policies, vars: TWO_REGIONS, cf });
  const [frankfurt, america] = await Promise.all([
    start({ colo: "FRA", continent: "EU" }),
    start({ colo: "ORD", continent: "NA" }),
  ]);
  return { frankfurt, america };
}
