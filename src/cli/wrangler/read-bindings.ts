/** The Worker's bindings as `wrangler dev` or `wrangler deploy` would pass them, without starting anything. */

import { basename, resolve } from "node:path";
import type { Command } from "commander";
import { parseSettings } from "../../features/configuration.ts";
import { describeMistake } from "../../kernel/config/mistake.ts";
import type { Bindings, Settings } from "../../kernel/config/settings.ts";
import { exists } from "../files.ts";
import { Failure, type Io, Misuse } from "../io.ts";
import { line } from "../printable.ts";
import {
  type BindingOptions,
  bindingSources,
  deployedRedis,
  environmentNameOf,
  redisNames,
  tokenMissing,
  type ValueSource,
} from "./bindings.ts";
import { configPathIn, environmentsIn, readConfigFile, type WranglerConfig } from "./config-file.ts";

export const DEPLOYED_TOKEN = "a-secret-of-the-deployed-worker";

/** The options that say which bindings there are, as the command line gives them. */
export interface ReadBindingsOptions {
  readonly env?: string;
  readonly var?: Readonly<Record<string, string>>;
  readonly envFile?: readonly string[];
  /** As the deployed Worker gets them: only the file and `--var` count, and tokens are secrets there. */
  readonly deployed?: boolean;
}

export interface Read {
  readonly bindings: Bindings;
  readonly options: BindingOptions;
  readonly config: WranglerConfig;
  /** What the user should know about this machine. */
  readonly notes: readonly string[];
}

export function withReadOptions(command: Command): Command {
  return withBindingOptions(command.argument("[file]", CONFIG_FILE));
}

export const CONFIG_FILE = "wrangler's configuration file (default: wrangler.json, .jsonc or .toml of this folder)";

/** Adds the options alone, to a command that names its files otherwise. */
export function withBindingOptions(command: Command): Command {
  return command
    .option("-e, --env <name>", "the environment of that file")
    .option("--var <name:value>", "a variable; may be given several times", addVariable)
    .option("--env-file <file>", "a file of variables, in place of .dev.vars; may be given several times", addFile);
}

function addVariable(text: string, before: Readonly<Record<string, string>> = {}): Record<string, string> {
  const colon = text.indexOf(":");
  if (colon <= 0) throw new Misuse(`--var: expected NAME:VALUE; found no name before a colon`);
  return { ...before, [text.slice(0, colon)]: text.slice(colon + 1) };
}

function addFile(file: string, before: readonly string[] = []): string[] {
  return [...before, file];
}

/**
 * Variables of the environment are not bindings, but `npm start` passes those on that name a Redis and its token. If
 * only the deployed Worker has a token, the token is `DEPLOYED_TOKEN`, and a note says so.
 *
 * @throws {Misuse} if there is no such file or environment. @throws {ConfigFileError} if the file cannot be parsed.
 */
export function readBindings(file: string | undefined, read: ReadBindingsOptions, io: Pick<Io, "cwd" | "env">): Read {
  const configPath = file === undefined ? configPathIn(io.cwd) : resolve(io.cwd, file);
  const name = basename(configPath);
  if (!exists(configPath)) throw new Misuse(`there is no ${name} here: name the file, or change to its folder`);
  const config = readConfigFile(configPath);
  const { var: vars = {}, envFile = [], deployed = false } = read;
  const environmentName = environmentNameOf(read.env, io.env, envFile, io.cwd);
  if (environmentName !== undefined && environmentsIn(config)[environmentName] === undefined) {
    const names = Object.keys(environmentsIn(config)).join(", ") || "none";
    const of = read.env === undefined ? ", of CLOUDFLARE_ENV" : "";
    throw new Misuse(`${name} has no environment ${environmentName}${of} (its environments: ${names})`);
  }
  const envFiles = envFile.map((one) => resolve(io.cwd, one));
  const missing = envFiles.find((one) => !exists(one));
  if (missing !== undefined) throw new Misuse(`--env-file: there is no ${basename(missing)}`);
  const options = { configPath, environmentName, envFiles, vars };

  const { sources: all, bound } = bindingSources(options, config, io.env);
  const names = redisNames(all);
  const ofRedis = (values: object) => Object.entries(values).filter(([one, value]) => names.includes(one) && value);
  const sources: ValueSource[] = deployed
    ? [[name, { ...bound.vars, ...vars }]]
    : all.map((one) => (one[0] === "the environment" ? [one[0], Object.fromEntries(ofRedis(one[1]))] : one));
  const bindings: Record<string, unknown> = {};
  // Nothing is asked of services and namespaces.
  for (const one of bound.services) bindings[one] = { fetch() {} };
  for (const one of bound.objects) bindings[one] = { idFromName() {}, get() {} };
  for (const [, values] of sources.toReversed()) Object.assign(bindings, values);
  const secret = deployedRedis(sources);
  for (const { tokenIn, urlIn } of secret) {
    bindings[tokenIn] = DEPLOYED_TOKEN;
    // With `REDIS_NODES`, KEY_SECRET is a secret of the deployed Worker too.
    if (urlIn === "REDIS_NODES") bindings.KEY_SECRET ||= DEPLOYED_TOKEN;
  }
  return { bindings, options, config, notes: secret.length === 0 || deployed ? [] : [tokenMissing(secret)] };
}

/** The settings, for a command that cannot do without. Notes are printed. @throws {Failure} with every mistake. */
export function readSettings(file: string | undefined, read: ReadBindingsOptions, io: Io): Settings {
  const { bindings, notes } = readBindings(file, read, io);
  const parsed = parseSettings(bindings);
  if (parsed.mistakes)
    throw new Failure(`mistakes in ${file ?? "the configuration"}:`, ...parsed.mistakes.map(describeMistake));
  for (const note of notes) io.err(line(`note: ${note}`));
  return parsed.value;
}
