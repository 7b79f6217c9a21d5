/** The bindings that say who may change limits while the gateway runs, what they see, and where they see it. */

import { type Get, isTable, type Wrong } from "./bindings.ts";
import { readSetting } from "./fields/setting.ts";

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
const TOKEN = {
  is: "text",
  // It travels in a header field.
  form: new RegExp(`^[!-~]{${LEAST_TOKEN},}$`),
  isOptional: true,
  isSecret: true,
  expected: `at least ${LEAST_TOKEN} characters of ASCII, without white space`,
} as const;

export const ADMIN_SETTINGS = {
  ADMIN_TOKEN: TOKEN,
  TAKE_TOKEN: TOKEN,
  ACCESS_TEAM: {
    is: "text",
    form: /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/i,
    kept: (team: string) => team.toLowerCase(),
    expected: "the team's name, the part before .cloudflareaccess.com",
  },
  ACCESS_AUD: {
    is: "text",
    form: /^[0-9a-f]{64}$/i,
    kept: (audience: string) => audience.toLowerCase(),
    expected: "the application's audience tag: 64 hexadecimal digits",
  },
} as const;

/** Undefined: there is no admin API, and no live document is read. */
export function readAdmin(get: Get, wrong: Wrong): AdminSettings | undefined {
  const token = readSetting(ADMIN_SETTINGS, "ADMIN_TOKEN", get, wrong);
  const access = readAccess(get, wrong);
  if (token === undefined && !access) return undefined;
  return { ...(token !== undefined && { token }), ...(access && { access }) };
}

/** Undefined: programs cannot take over HTTP. Whoever may take must not be able to change limits. */
export function readTakeToken(get: Get, wrong: Wrong): string | undefined {
  const token = readSetting(ADMIN_SETTINGS, "TAKE_TOKEN", get, wrong);
  if (token !== undefined && token === get("ADMIN_TOKEN")) {
    wrong("ERR_TAKE_TOKEN", "TAKE_TOKEN", "another token than ADMIN_TOKEN", "a value that is not shown");
  }
  return token;
}

/** One of the two without the other is a mistake. */
function readAccess(get: Get, wrong: Wrong): AccessSettings | undefined {
  if (get("ACCESS_TEAM") === undefined && get("ACCESS_AUD") === undefined) return undefined;
  return {
    team: readSetting(ADMIN_SETTINGS, "ACCESS_TEAM", get, wrong),
    audience: readSetting(ADMIN_SETTINGS, "ACCESS_AUD", get, wrong),
  };
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
