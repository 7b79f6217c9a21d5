/** The name of the region that answers a request. Limits with `scope = "region"` count by it. */

import { isRegionName, type RegionNames } from "../config/regions.ts";
import type { RequestHead } from "../request/request-head.ts";

export const UNKNOWN = "local";

/** The first that is known of `REGION`, a name by data centre, country or continent, the continent's code, `local`. */
export function regionOf(request: RequestHead, region: string | undefined, names: RegionNames): string {
  if (region !== undefined) return region;
  const { colo, country, continent } = (request.cf ?? {}) as Readonly<Record<keyof RegionNames, unknown>>;
  const named = nameOf(colo, names.colo) ?? nameOf(country, names.country) ?? nameOf(continent, names.continent);
  // A Worker that calls this one can put anything into `cf`.
  return named ?? (isRegionName(continent) ? continent : UNKNOWN);
}

function nameOf(code: unknown, names: Readonly<Record<string, string>>): string | undefined {
  return typeof code === "string" && Object.hasOwn(names, code) ? names[code] : undefined;
}
