// The sources of the Worker's bindings on this machine, in the order in which `npm start` and `wrangler dev` prefer
// them.

import { existsSync, readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { parseEnv } from "node:util";
import { parse as parseToml } from "smol-toml";

export type Source = readonly [name: string, values: Readonly<Record<string, unknown>>];

export interface BindingSources {
  /**
   * In order of preference: `--var`, the environment, `.dev.vars`, env files, wrangler.toml. `--env-file` replaces
   * `.dev.vars`. Without both, `.env` is read.
   */
  readonly sources: readonly Source[];
  readonly fromDevVars: NodeJS.Dict<string>;
  /** Env files that wrangler reads by default. It does not read them once it gets an `--env-file`. */
  readonly defaultEnvFiles: string[];
  readonly configPath: string;
}

/** Relative paths begin at the current directory. */
export function bindingSources(wranglerArgs: string[], environment: NodeJS.ProcessEnv): BindingSources {
  const environmentName = optionValues(wranglerArgs, "--env", "-e")[0];
  const directory = optionValues(wranglerArgs, "--cwd")[0] ?? ".";
  const configPath = resolve(directory, optionValues(wranglerArgs, "--config", "-c")[0] ?? "wrangler.toml");
  const givenEnvFiles = optionValues(wranglerArgs, "--env-file").map((file) => resolve(dirname(configPath), file));
  const devVars = devVarsFile(dirname(configPath), environmentName);
  const defaultEnvFiles =
    givenEnvFiles.length > 0 || devVars ? [] : envFilesByDefault(dirname(configPath), environmentName);

  const fromFiles = Object.assign({}, ...[...givenEnvFiles, ...defaultEnvFiles].map(readEnvFile));
  const fromDevVars = givenEnvFiles.length === 0 && devVars ? readEnvFile(devVars) : {};
  const sources: Source[] = [
    ["--var", variablesOnCommandLine(wranglerArgs)],
    ["the environment", environment],
    [".dev.vars", fromDevVars],
    ["an env file", fromFiles],
    ["wrangler.toml", variablesInConfig(configPath, environmentName)],
  ];
  return { sources, fromDevVars, defaultEnvFiles, configPath };
}

/** A text and its source. The first source that has it wins. An empty value counts as absent. */
export function lookUp(sources: readonly Source[], name: string): { value: string; source: string } | undefined {
  for (const [source, values] of sources) {
    const value = values[name];
    if (typeof value === "string" && value !== "") return { value, source };
  }
  return undefined;
}

/**
 * The URL of the Redis in wrangler.toml, if nothing on this machine has its token. The token is then a secret of the
 * deployed Worker, which cannot be read back. That it is missing here is not a mistake in the configuration.
 */
export function deployedRedis(sources: readonly Source[]): string | undefined {
  const url = lookUp(sources, "UPSTASH_REDIS_REST_URL");
  const isDeployed = url?.source === "wrangler.toml" && lookUp(sources, "UPSTASH_REDIS_REST_TOKEN") === undefined;
  return isDeployed ? url.value : undefined;
}

/** What to tell the user. */
export const TOKEN_MISSING =
  "UPSTASH_REDIS_REST_TOKEN is not on this machine: it is a secret of the deployed Worker. To use that Redis here, put the token into " +
  ".dev.vars (see .dev.vars.example)";

/** The values of a wrangler option, given as `--name value` or `--name=value`, perhaps several times. */
export function optionValues(args: string[], ...names: string[]): string[] {
  return args.flatMap((arg, index) => {
    if (names.includes(arg)) return args[index + 1] === undefined ? [] : [args[index + 1] as string];
    const name = names.find((candidate) => arg.startsWith(`${candidate}=`));
    return name === undefined ? [] : [arg.slice(name.length + 1)];
  });
}

/** The variables of `--var A:1 B:2 --var=C:3`: wrangler takes every word up to the next option. */
function variablesOnCommandLine(args: string[]): Record<string, string> {
  const variables: Record<string, string> = {};
  let isVar = false;
  for (const arg of args) {
    const word = arg.startsWith("--var=") ? arg.slice("--var=".length) : arg;
    if (word === arg && arg.startsWith("-")) {
      isVar = arg === "--var";
    } else if (isVar || word !== arg) {
      isVar = true;
      const colon = word.indexOf(":");
      if (colon > 0) variables[word.slice(0, colon)] = word.slice(colon + 1);
    }
  }
  return variables;
}

/** wrangler reads only the first of these files that exists. */
function devVarsFile(directory: string, environmentName: string | undefined): string | undefined {
  const names = environmentName ? [`.dev.vars.${environmentName}`, ".dev.vars"] : [".dev.vars"];
  return names.map((name) => resolve(directory, name)).find((file) => existsSync(file));
}

function envFilesByDefault(directory: string, environmentName: string | undefined): string[] {
  const names = [".env", ".env.local"];
  if (environmentName) names.push(`.env.${environmentName}`, `.env.${environmentName}.local`);
  return names.map((name) => resolve(directory, name)).filter((file) => existsSync(file));
}

function readEnvFile(file: string): NodeJS.Dict<string> {
  return existsSync(file) ? parseEnv(readFileSync(file, "utf8")) : {};
}

function variablesInConfig(file: string, environmentName: string | undefined): Record<string, unknown> {
  if (!file.endsWith(".toml") || !existsSync(file)) return {};
  try {
    const config = parseToml(readFileSync(file, "utf8")) as WranglerConfig;
    // An environment does not inherit the variables of the top level.
    return (environmentName ? config.env?.[environmentName]?.vars : config.vars) ?? {};
  } catch {
    return {}; // wrangler reads the file too, and explains better what is wrong
  }
}

interface WranglerConfig {
  vars?: Record<string, unknown>;
  env?: Record<string, { vars?: Record<string, unknown> }>;
}
