/** The bindings that say who may change limits while the gateway runs, what they see, and where they see it. */

import { type Get, isTable, type Wrong } from "./bindings.ts";

/** At least one of the two is there. */
export interface AdminSettings {
  readonly token?: string;
  readonly access?: AccessSettings;
}

/** A Cloudflare Access application in front of the admin API. */
export interface AccessSettings {
  /** The name before `.cloudflareaccess.com`. */
  readonly team: string;
  /** The application's audience tag. */
  readonly audience: string;
}

/** The part of a binding to static files that is used here. */
export interface AssetFiles {
  fetch(request: Request): Promise<Response>;
}

const LEAST_TOKEN = 32;

/** Undefined: there is no admin API, and no live document is read. */
export function readAdmin(get: Get, wrong: Wrong): AdminSettings | undefined {
  const [token, access] = [readToken(get, wrong), readAccess(get, wrong)];
  if (token === undefined && !access) return undefined;
  return { ...(token !== undefined && { token }), ...(access && { access }) };
}

function readToken(get: Get, wrong: Wrong): string | undefined {
  const token = get("ADMIN_TOKEN");
  if (token === undefined) return undefined;
  // It travels in a header field.
  if (typeof token === "string" && /^[!-~]+$/.test(token) && token.length >= LEAST_TOKEN) return token;
  const expected = `at least ${LEAST_TOKEN} characters of ASCII, without white space`;
  wrong("ERR_ADMIN_TOKEN", "ADMIN_TOKEN", expected, "a value that is not shown");
  return undefined;
}

function readAccess(get: Get, wrong: Wrong): AccessSettings | undefined {
  const [team, audience] = [get("ACCESS_TEAM"), get("ACCESS_AUD")];
  if (team === undefined && audience === undefined) return undefined;
  if (typeof team !== "string" || !/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/i.test(team)) {
    wrong("ERR_ACCESS_TEAM", "ACCESS_TEAM", "the team's name, the part before .cloudflareaccess.com", team);
  }
  if (typeof audience !== "string" || !/^[0-9a-f]{64}$/i.test(audience)) {
    wrong("ERR_ACCESS_AUD", "ACCESS_AUD", "the application's audience tag: 64 hexadecimal digits", audience);
  }
  return { team: String(team).toLowerCase(), audience: String(audience).toLowerCase() };
}

/** The files of the console. Undefined: there is no console. */
export function readAssets(get: Get, wrong: Wrong): AssetFiles | undefined {
  const assets = get("ASSETS");
  if (assets === undefined || hasFetch(assets)) return assets;
  wrong("ERR_ASSETS", "ASSETS", "static files ([assets] in wrangler.toml)", assets);
  return undefined;
}

function hasFetch(value: unknown): value is AssetFiles {
  return isTable(value) && typeof value.fetch === "function";
}
