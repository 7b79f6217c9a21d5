/** Reads one binding at a time, and notes what is wrong with it. */

import { describeValue, type Mistake, type MistakeCode } from "./mistake.ts";

/** The Worker's bindings as they arrive. They may contain anything. */
export type Bindings = Readonly<Record<string, unknown>>;

export type Get = (name: string) => unknown;

export type Wrong = (code: MistakeCode, path: string, expected: string, found: unknown) => void;

export function reading(bindings: Bindings): {
  readonly get: Get;
  readonly wrong: Wrong;
  readonly mistakes: Mistake[];
} {
  const mistakes: Mistake[] = [];
  return {
    mistakes,
    // `--var NAME:` and an emptied secret arrive as "".
    get: (name) => (bindings[name] === "" || bindings[name] === null ? undefined : bindings[name]),
    wrong: (code, path, expected, found) => void mistakes.push({ code, path, expected, found: describeValue(found) }),
  };
}

export function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Undefined: the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function isHttpUrl(value: unknown): value is string {
  const url = typeof value === "string" && URL.canParse(value) ? new URL(value) : null;
  return url !== null && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "";
}

/** Whether nobody can read or change on its way what is got or sent there: https, or http on this machine. */
export function isSecureUrl(value: unknown): value is string {
  if (!isHttpUrl(value) || value.includes("#")) return false;
  const { protocol, hostname } = new URL(value);
  return protocol === "https:" || LOOPBACK.test(hostname);
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** The part of a wrong URL that messages show. The rest may be a password, or a token pasted in the wrong place. */
export function schemeOf(url: unknown): unknown {
  if (typeof url !== "string") return url;
  if (isBareHost(url)) return `${url}, without http:// or https://`;
  const [scheme] = /^[a-z]{2,8}:(?=\/\/)/i.exec(url) ?? [];
  return scheme ? `${scheme}…` : "a value that is not shown";
}

/** A host name whose scheme was forgotten. In lower case: no token looks like that. */
export function isBareHost(text: string): boolean {
  return /^(?:localhost|(?:[a-z0-9-]{1,63}\.)+[a-z]{2,24})(?::\d{1,5})?\/?$/.test(text);
}
