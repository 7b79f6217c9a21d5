/** Names of regions. A name is part of a key in Redis: its definition and all checks of it are here. */

import { type Get, isTable, parseJson, reading, type Wrong } from "./bindings.ts";
import { readSetting } from "./fields/setting.ts";
import { describeMistake, describeValue } from "./mistake.ts";

/**
 * Names of regions by Cloudflare's codes, looked up in this order. A name is 1 to 32 letters, digits, `_` `.` or `-`,
 * beginning with a letter or digit.
 */
export interface RegionNames {
  /** By data centre, three letters: `{ FRA: "frankfurt" }`. */
  readonly colo: Readonly<Record<string, string>>;
  /** By country, two letters. */
  readonly country: Readonly<Record<string, string>>;
  /** By continent, two letters. */
  readonly continent: Readonly<Record<string, string>>;
}

/** The tables of names, in the order in which a request is looked up. */
export const REGION_KINDS: readonly string[] = ["colo", "country", "continent"] satisfies (keyof RegionNames)[];

const REGION_NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,31}$/;
export const REGION_EXPECTED = "1 to 32 letters, digits, _ . or -, beginning with a letter or digit";

export const REGION_SETTINGS = {
  REGION: { is: "text", form: REGION_NAME, isOptional: true, expected: REGION_EXPECTED },
} as const;

export function isRegionName(value: unknown): value is string {
  return typeof value === "string" && REGION_NAME.test(value);
}

/** @throws {TypeError} if it is not a name of a region. */
export function checkRegion(region: unknown): string {
  if (isRegionName(region)) return region;
  throw new TypeError(`region: expected ${REGION_EXPECTED}; found ${describeValue(region)}`);
}

/** A table given by a program. @throws {TypeError} with every mistake in it. */
export function checkRegions(table: unknown): RegionNames {
  const { wrong, mistakes } = reading({});
  const names = readRegions(table, wrong, "region");
  if (mistakes.length > 0) throw new TypeError(mistakes.map(describeMistake).join("\n"));
  return names;
}

/** @param name of the binding, or of the option with the same meaning. */
export function readRegion(get: Get, wrong: Wrong, name = "REGION"): string | undefined {
  return readSetting(REGION_SETTINGS, "REGION", get, wrong, name);
}

/** Reads a table, or its JSON. @param path the table's name in messages. */
export function readRegions(value: unknown, wrong: Wrong, path = "REGIONS"): RegionNames {
  const names = { colo: {}, country: {}, continent: {} } as Record<keyof RegionNames, Record<string, string>>;
  if (value === undefined) return names;
  const table = typeof value === "string" ? parseJson(value) : value;
  if (!isTable(table)) {
    wrong("ERR_REGIONS", path, "a table { colo = {…}, country = {…}, continent = {…} }", value);
    return names;
  }
  for (const [kind, codes] of Object.entries(table)) {
    if (codes === undefined) continue;
    if (!Object.hasOwn(names, kind) || !isTable(codes)) {
      wrong("ERR_REGIONS", `${path}.${kind}`, "colo, country or continent, each a table of codes to names", codes);
      continue;
    }
    for (const [code, name] of Object.entries(codes)) {
      if (!/^[A-Za-z0-9]{2,3}$/.test(code) || !isRegionName(name)) {
        const expected = `a code of 2 or 3 letters, and a name of ${REGION_EXPECTED}`;
        wrong("ERR_REGIONS", `${path}.${kind}.${code}`, expected, name);
        continue;
      }
      names[kind as keyof RegionNames][code.toUpperCase()] = name;
    }
  }
  return names;
}
