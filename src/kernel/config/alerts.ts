/** Where warnings about clients are sent (`warn` of policies). Both are secrets: webhooks have theirs in the URL. */

import { type Bindings, type Get, isSecureUrl, reading, type Wrong } from "./bindings.ts";
import { readStats, type StatsSettings } from "./counts.ts";
import { readSetting } from "./fields/setting.ts";

export interface AlertTarget {
  readonly url: string;
  /** Signs what is sent. */
  readonly secret: string;
}

const SECRET_EXPECTED = "at least 32 characters";

export const ALERT_SETTINGS = {
  ALERT_URL: {
    is: "text",
    isRight: isSecureUrl,
    isOptional: true,
    isSecret: true,
    expected: "an https URL without credentials or fragment (http on this machine only)",
  },
  ALERT_SECRET: { is: "text", form: /^.{32}/s, isOptional: true, isSecret: true, expected: SECRET_EXPECTED },
} as const;

/** Undefined: nobody is told. The object that sends reads its own bindings. */
function readAlerts(get: Get, wrong: Wrong): AlertTarget | undefined {
  const url = readSetting(ALERT_SETTINGS, "ALERT_URL", get, wrong);
  const secret = readSetting(ALERT_SETTINGS, "ALERT_SECRET", get, wrong);
  if (get("ALERT_URL") === undefined) return undefined;
  if (get("ALERT_SECRET") === undefined) {
    wrong("ERR_ALERT_SECRET", "ALERT_SECRET", `${SECRET_EXPECTED}: ALERT_URL needs this secret`, undefined);
  }
  return url === undefined || secret === undefined ? undefined : { url, secret };
}

/** The URL and its secret stay out of the settings, which people print: they say whether somebody is told. */
export function readStatsAndAlerts(
  get: Get,
  wrong: Wrong,
): { readonly stats: StatsSettings; readonly isAlerting: boolean } {
  const stats = readStats(get, wrong);
  const target = readAlerts(get, wrong);
  if (get("ALERT_URL") === undefined) return { stats, isAlerting: false };
  if (get("STATS") === undefined) {
    wrong("ERR_STATS", "STATS", "the Durable Object HeadgateStats: ALERT_URL needs it", undefined);
  }
  if (stats.namespace && stats.flushMs === 0) {
    wrong("ERR_STATS_FLUSH", "STATS_FLUSH", "a duration from 1s to 1h: ALERT_URL needs STATS", get("STATS_FLUSH"));
  }
  return { stats, isAlerting: target !== undefined };
}

/** As the object finds it. Undefined: there is none, or it is wrong. */
export function alertTargetIn(bindings: Bindings): AlertTarget | undefined {
  const { get, wrong } = reading(bindings);
  return readAlerts(get, wrong);
}
