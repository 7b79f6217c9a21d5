/** Wrangler's configuration file: wrangler.toml, wrangler.jsonc or wrangler.json. */

import { basename, extname, join } from "node:path";
import { parse as parseToml } from "smol-toml";
import stripJsonComments from "strip-json-comments";
import { isTable } from "../../kernel/config/bindings.ts";
import { exists, readText } from "../files.ts";
import { Failure } from "../io.ts";

/** The content of the file. It may hold anything. */
export type WranglerConfig = Readonly<Record<string, unknown>>;

/** What an environment, or the top level, binds. */
export interface Bound {
  readonly vars: Readonly<Record<string, unknown>>;
  /** The names of bindings to Durable Objects. */
  readonly objects: readonly string[];
  /** The name of the Worker whose objects count. Undefined: no object does, or the name is not known. */
  readonly counts: string | undefined;
  /** The names of bindings to services, and to the static files. */
  readonly services: readonly string[];
  /** The static files of the Worker, as the file says. */
  readonly assets: Readonly<Record<string, unknown>>;
}

/** The file cannot be parsed. The message has no line of the file, which may hold a secret. */
export class ConfigFileError extends Failure {
  readonly file: string;

  constructor(file: string, message: string) {
    super(`${file}: ${message}`);
    this.file = file;
  }
}

/** The file that wrangler would read in this folder. None: the path of wrangler.toml. */
export function configPathIn(directory: string): string {
  const paths = ["wrangler.json", "wrangler.jsonc", "wrangler.toml"].map((name) => join(directory, name));
  return paths.find(exists) ?? paths.at(-1)!;
}

/** @throws {Misuse} if it cannot be read. @throws {ConfigFileError} if it cannot be parsed. */
export function readConfigFile(path: string): WranglerConfig {
  const text = readText("", path, basename(path));
  const isJson = /^\.jsonc?$/.test(extname(path));
  try {
    const config: unknown = isJson ? JSON.parse(stripJsonComments(text, { trailingCommas: true })) : parseToml(text);
    if (isTable(config)) return config;
  } catch (error) {
    throw new ConfigFileError(basename(path), `expected ${isJson ? "JSON" : "TOML"}; ${reasonOf(error)}`);
  }
  throw new ConfigFileError(basename(path), "expected an object");
}

/** A parser's message without its excerpt of the file. */
function reasonOf(error: unknown): string {
  const { message, line, column } = error as Error & { line?: number; column?: number };
  const [reason = ""] = message
    .replace(/, "[\s\S]*" is not valid JSON$|, \.\.\.[\s\S]* is not valid JSON$/, "")
    .split("\n");
  return line === undefined ? reason : `${reason} (line ${line}, column ${column})`;
}

export function environmentsIn({ env }: WranglerConfig): WranglerConfig {
  return isTable(env) ? env : {};
}

/** An environment inherits static files, but no variables and bindings. What is not of the right kind is left out. */
export function boundIn(config: WranglerConfig, environmentName: string | undefined): Bound {
  const chosen = environmentName === undefined ? config : environmentsIn(config)[environmentName];
  const { vars, durable_objects, services, assets = config.assets, name } = isTable(chosen) ? chosen : {};
  const objects = isTable(durable_objects) && Array.isArray(durable_objects.bindings) ? durable_objects.bindings : [];
  const counts = objects.find((one) => isTable(one) && one.name === "COUNTS");
  const worker = name ?? (environmentName === undefined ? undefined : `${String(config.name)}-${environmentName}`);
  const script: unknown = counts && (counts.script_name ?? worker);
  return {
    vars: isTable(vars) ? vars : {},
    objects: namesIn(objects, "name"),
    counts: typeof script === "string" ? script : undefined,
    services: [...namesIn(services, "binding"), ...namesIn([assets], "binding")],
    assets: isTable(assets) ? assets : {},
  };
}

/** The texts in this field of each table. */
export function namesIn(list: unknown, field: string): string[] {
  const names = (Array.isArray(list) ? (list as unknown[]) : []).map((one) => (isTable(one) ? one[field] : undefined));
  return names.filter((name) => typeof name === "string");
}
