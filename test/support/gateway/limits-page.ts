import { startGateway } from "./gateway.ts";
import { TWO_REGIONS } from "./limits-policies.ts";

/** Starts one gateway in each of two regions, for the limits page. Both use one Redis. */
export async function startTwoRegions(policies: readonly object[]) {
  const start = (cf: Record<string, unknown>) => startGateway({ policies, vars: TWO_REGIONS, cf });
  const [frankfurt, america] = await Promise.all([
    start({ colo: "FRA", continent: "EU" }),
    start({ colo: "ORD", continent: "NA" }),
  ]);
  return { frankfurt, america };
}
