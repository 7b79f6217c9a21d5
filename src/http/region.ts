/** Where this request is answered, by name: what limits with `scope = "region"` count in. */

import { isRegionName, type RegionNames } from "../config/regions.ts";

const UNKNOWN = "local";

/** `REGION` if given, else by Cloudflare's codes of the data centre, the country and the continent; else `local`. */
export function regionOf(request: Request, region: string | undefined, names: RegionNames): string {
  if (region !== undefined) return region;
  const { colo, country, continent } = (request.cf ?? {}) as Readonly<Record<keyof RegionNames, unknown>>;
  const named = nameOf(colo, names.colo) ?? nameOf(country, names.country) ?? nameOf(continent, names.continent);
  // A Worker that calls this one says of `cf` what it likes.
  return named ?? (isRegionName(continent) ? continent : UNKNOWN);
}

function nameOf(code: unknown, names: Readonly<Record<string, string>>): string | undefined {
  return typeof code === "string" && Object.hasOwn(names, code) ? names[code] : undefined;
}
