/** Who issues the tokens whose claims are keys: `IDENTITY`, or `identity` in the library. */

import { noField } from "../nearest.ts";
import { FIELD_NAME, sourceOf } from "../request/sources.ts";
import { type Get, isSecureUrl, isTable, parseJson, schemeOf, type Wrong } from "./bindings.ts";
import { type Mistake, mistakeAbout } from "./mistake.ts";

/** An issuer of tokens, as it is understood. */
export interface IssuerSettings {
  /** The URL of its key set. */
  readonly jwks: string;
  readonly issuer: string;
  /** At least one of them must be an audience of a token. */
  readonly audience: readonly string[];
  /** The cookie that holds the token. Absent: it is the bearer token. */
  readonly cookie?: string;
}

/** The fields of an issuer. */
const ISSUER_FIELDS: readonly string[] = ["jwks", "issuer", "audience", "cookie"];

/** Each of them may look at a request's token. */
const MAX_ISSUERS = 10;
const LONGEST_TEXT = 512;
const LIST_EXPECTED = `a table { jwks, issuer, audience, cookie }, a list of 1 to ${MAX_ISSUERS} of them, or the JSON of either`;

/** Undefined: it is absent. @param name of the binding, or of the option with the same meaning. */
export function readIdentity(get: Get, wrong: Wrong, name = "IDENTITY"): readonly IssuerSettings[] | undefined {
  const value = get(name);
  if (value === undefined) return undefined;
  const given = typeof value === "string" ? parseJson(value) : value;
  const list: readonly unknown[] = Array.isArray(given) ? given : [given];
  if (list.length === 0 || list.length > MAX_ISSUERS) {
    wrong("ERR_IDENTITY", name, LIST_EXPECTED, `${list.length} issuers`);
    return undefined;
  }
  const pathOf = (i: number) => (Array.isArray(given) ? `${name}[${i}]` : name);
  const taken = new Set<string>();
  return list.flatMap((one, i) => {
    if (!isTable(one)) {
      wrong(
        "ERR_IDENTITY",
        pathOf(i),
        LIST_EXPECTED,
        typeof value === "string" ? "a string that is not such JSON" : one,
      );
      return [];
    }
    const issuer = readIssuer(one, pathOf(i), wrong);
    const place = JSON.stringify([issuer.issuer, issuer.cookie]);
    if (taken.has(place)) {
      const expected = "an issuer that no other one with the same cookie has";
      wrong("ERR_IDENTITY", `${pathOf(i)}.issuer`, expected, issuer.issuer);
    }
    taken.add(place);
    return [issuer];
  });
}

function readIssuer(table: Readonly<Record<string, unknown>>, path: string, wrong: Wrong): IssuerSettings {
  const { jwks, issuer, audience, cookie } = table;
  const mistake = (field: string, expected: string, found: unknown) => {
    wrong("ERR_IDENTITY", `${path}.${field}`, expected, found);
  };
  for (const name of Object.keys(table)) {
    if (!ISSUER_FIELDS.includes(name)) mistake(name, noField(name, ISSUER_FIELDS), "an unknown field");
  }
  if (!isSecureUrl(jwks)) {
    const expected = "the https URL of the issuer's key set, without credentials (http on this machine only)";
    mistake("jwks", expected, schemeOf(jwks));
  }
  // The issuer stands before a claim and a space in what is counted.
  if (!isText(issuer) || /\s/.test(issuer)) {
    mistake("issuer", "the string that tokens have as iss, 1 to 512 characters without white space", issuer);
  }
  const audiences: readonly unknown[] = Array.isArray(audience) ? audience : [audience];
  if (audiences.length === 0 || !audiences.every(isText)) {
    mistake("audience", "the string that tokens have as aud, 1 to 512 characters, or a list of such", audience);
  }
  if (cookie !== undefined && !(typeof cookie === "string" && new RegExp(`^${FIELD_NAME}$`).test(cookie))) {
    mistake("cookie", 'the name of a cookie, for example "session"', cookie);
  }
  return {
    ...{ jwks: String(jwks), issuer: String(issuer), audience: audiences.map(String) },
    ...(cookie !== undefined && { cookie: String(cookie) }),
  };
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= LONGEST_TEXT;
}

/** Whether a part of a key, a plan or the source of an id is a claim. */
export function isClaim(part: string): boolean {
  return sourceOf(part) === "jwt";
}

/** Where a policy, as it was written, names claims without anybody who issues them. */
export function missingIdentity(policy: unknown, path: string): Mistake[] {
  const { key, plan, once } = (policy ?? {}) as Readonly<Record<"key" | "plan" | "once", unknown>>;
  const keys = Array.isArray(key)
    ? key.map((kind: unknown, i) => [`key[${i}]`, kind] as const)
    : [["key", key] as const];
  return [...keys, ["plan", plan] as const, ["once", once] as const].flatMap(([field, found]) => {
    if (typeof found !== "string" || !found.split("+").some(isClaim)) return [];
    const expected = "IDENTITY (in the library the option identity), which says who issues the tokens";
    return [mistakeAbout("ERR_IDENTITY_MISSING", `${path}.${field}`, expected, found)];
  });
}
