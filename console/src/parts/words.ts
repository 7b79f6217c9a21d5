/** What a limit and a policy are, in words. */

import type { Limit, MeterUnit, PolicyAnswer } from "../api.ts";
import { amount } from "./numbers.ts";

/** `600 per 1m`, `10,000 per month, America/Los_Angeles`, with what is special about it. */
export function limitText(one: Limit, unit: MeterUnit | undefined): string {
  const { limit, per, burst, scope, buckets, oldest } = one;
  return [
    `${amount(limit, unit)} ${per}`,
    ...(burst !== undefined && burst !== limit ? [`burst ${amount(burst, unit)}`] : []),
    ...(buckets !== undefined && buckets > 1 ? [`${buckets} buckets`] : []),
    ...(oldest === "whole" ? ["oldest bucket whole"] : []),
    ...(scope === "region" ? ["per region"] : []),
  ].join(", ");
}

/** The policies whose overflow this one is. */
export function headsOf({ name }: PolicyAnswer, all: readonly PolicyAnswer[]): readonly PolicyAnswer[] {
  return all.filter(({ overflow }) => overflow === name);
}

/** `POST /login, /signin`, `every request, but not /health`. */
export function matchText({ match, except = [] }: PolicyAnswer): string {
  const list = (value: unknown) => (Array.isArray(value) ? value.join(", ") : String(value));
  const text = ({ method, path, host }: PolicyAnswer["match"]) => {
    const words = [method && list(method), host && `host ${list(host)}`, path && list(path)].filter(Boolean);
    return words.join(" ") || "every request";
  };
  return [text(match), ...except.map((one) => `but not ${text(one)}`)].join(", ");
}

/** What the units of settled answers are called, and of other requests. */
export function spentWord(unit: MeterUnit | undefined): string {
  return unit === "usd" ? "Spent" : unit === "tokens" ? "Charged" : "Units";
}

export function keyText(key: readonly string[]): string {
  return key.join(", or ");
}
