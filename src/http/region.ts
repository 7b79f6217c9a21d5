/** Where this request is answered, by name: what limits with `scope = "region"` count in. */

import type { RegionNames } from "../config/settings.ts";

const UNKNOWN = "local";

/** `REGION` if given, else by Cloudflare's codes of the data centre, the country and the continent; else `local`. */
export function regionOf(request: Request, region: string | undefined, names: RegionNames): string {
  if (region !== undefined) return region;
  const { colo, country, continent } = (request.cf ?? {}) as Partial<Record<keyof RegionNames, string>>;
  return (
    (colo && names.colo[colo]) ||
    (country && names.country[country]) ||
    (continent && names.continent[continent]) ||
    continent ||
    UNKNOWN
  );
}
