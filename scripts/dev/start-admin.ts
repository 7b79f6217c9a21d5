// The admin token for `npm start`: the one that is configured, or a random one.

import { randomBytes } from "node:crypto";
import { lookUp, type ValueSource } from "../../src/cli/wrangler/bindings.ts";
import { optionValues } from "./wrangler-options.ts";

const NAME = "ADMIN_TOKEN";

interface StartAdmin {
  /** What wrangler would not see by itself. */
  readonly handedOn: Readonly<Record<string, string>>;
  /** Undefined: there is to be no token. */
  readonly line?: string;
}

export function chooseAdmin(sources: readonly ValueSource[], wranglerArgs: string[]): StartAdmin {
  const [[, vars] = ["", {}]] = sources;
  // `--var ADMIN_TOKEN:`
  if (vars[NAME] === "") return { handedOn: {} };
  const address = `headgate: console at ${originOf(wranglerArgs)}/.headgate/console`;
  const found = lookUp(sources, NAME);
  if (!found) {
    const token = randomBytes(24).toString("base64url");
    return { handedOn: { [NAME]: token }, line: `${address}, with the token ${token}` };
  }
  const { value, source } = found;
  return {
    handedOn: source === "the environment" ? { [NAME]: value } : {},
    line: `${address}, with the ${NAME} of ${source}`,
  };
}

/** Where `wrangler dev` listens. */
function originOf(args: string[]): string {
  const last = (...names: string[]) => optionValues(args, ...names).at(-1);
  const ip = last("--ip");
  const host = ip === undefined || /^(?:\*|0\.0\.0\.0|::)$/.test(ip) ? "localhost" : ip;
  return `${last("--local-protocol") ?? "http"}://${host.includes(":") ? `[${host}]` : host}:${last("--port") ?? 8787}`;
}
