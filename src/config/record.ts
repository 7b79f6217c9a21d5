/** Whether decisions are recorded for `headgate replay`, and for which share of the clients. */

import type { Get, Wrong } from "./bindings.ts";

/** @returns the share of the clients, 0 … 1. */
export function readRecord(get: Get, wrong: Wrong): number {
  const value = get("RECORD") ?? "off";
  if (value === "off") return 0;
  if (value === "on") return 1;
  const share = typeof value === "string" && /^\d{1,3}(\.\d{1,4})?%$/.test(value) ? Number.parseFloat(value) / 100 : 0;
  if (share > 0 && share <= 1) return share;
  wrong("ERR_RECORD", "RECORD", '"on", "off" or a share of the clients, for example "10%"', value);
  return 0;
}
