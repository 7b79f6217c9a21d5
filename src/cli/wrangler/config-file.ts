/** Wrangler's configuration file: wrangler.toml, wrangler.jsonc or wrangler.json. */

import { existsSync, readFileSync } from "node:fs";
import { basename, extname, join } from "node:path";
import { parse as parseToml } from "smol-toml";
import stripJsonComments from "strip-json-comments";

/** What an environment, or the top level, binds. */
export interface Bound {
  readonly vars?: Readonly<Record<string, unknown>>;
  readonly durable_objects?: { readonly bindings?: readonly { readonly name: string }[] };
  readonly services?: readonly { readonly binding: string }[];
}

export interface WranglerConfig extends Bound {
  readonly env?: Readonly<Record<string, Bound>>;
}

/** The file cannot be parsed. The message has no line of the file, which may hold a secret. */
export class ConfigFileError extends Error {
  readonly file: string;

  constructor(file: string, message: string) {
    super(`${file}: ${message}`);
    this.file = file;
  }
}

/** The file that wrangler would read in this folder. None: the path of wrangler.toml. */
export function configPathIn(directory: string): string {
  const paths = ["wrangler.json", "wrangler.jsonc", "wrangler.toml"].map((name) => join(directory, name));
  return paths.find((path) => existsSync(path)) ?? paths.at(-1)!;
}

/** @throws {ConfigFileError} */
export function readConfigFile(path: string): WranglerConfig {
  const text = readFileSync(path, "utf8");
  const isJson = /^\.jsonc?$/.test(extname(path));
  try {
    const config: unknown = isJson ? JSON.parse(stripJsonComments(text, { trailingCommas: true })) : parseToml(text);
    if (typeof config === "object" && config !== null && !Array.isArray(config)) return config;
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

/** An environment inherits neither variables nor bindings. */
export function boundIn(config: WranglerConfig, environmentName: string | undefined): Bound {
  return (environmentName === undefined ? config : config.env?.[environmentName]) ?? {};
}
