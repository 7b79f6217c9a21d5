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
  /** The names of the Durable Objects that wrangler.toml binds. */
  readonly objects: readonly string[];
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
  const config = configOf(configPath, environmentName);
  const sources: Source[] = [
    ["--var", variablesOnCommandLine(wranglerArgs)],
    ["the environment", environment],
    [".dev.vars", fromDevVars],
    ["an env file", fromFiles],
    ["wrangler.toml", config.vars ?? {}],
  ];
  const objects = config.durable_objects?.bindings?.map(({ name }) => name) ?? [];
  return { sources, fromDevVars, defaultEnvFiles, configPath, objects };
}

/** A text and its source. The first source that has it wins. An empty value counts as absent. */
export function lookUp(sources: readonly Source[], name: string): { value: string; source: string } | undefined {
  for (const [source, values] of sources) {
    const value = values[name];
    if (typeof value === "string" && value !== "") return { value, source };
  }
  return undefined;
}

/** A Redis that the bindings name, and the names of the bindings that say so. */
export interface NamedRedis {
  readonly url: string;
  /** The source of the URL. */
  readonly source: string;
  readonly urlIn: "UPSTASH_REDIS_REST_URL" | "REDIS_NODES";
  readonly tokenIn: string;
}

/** The Redis of `UPSTASH_REDIS_REST_URL`, and those of `REDIS_NODES`. What is wrong with them, the Worker says. */
export function namedRedis(sources: readonly Source[]): NamedRedis[] {
  const central = lookUp(sources, "UPSTASH_REDIS_REST_URL");
  const nodes = sources.find(([, { REDIS_NODES }]) => REDIS_NODES !== undefined && REDIS_NODES !== "");
  return [
    ...(central ? [{ ...centralNames, url: central.value, source: central.source }] : []),
    ...(nodes ? nodesIn(nodes[1].REDIS_NODES).map((node) => ({ ...node, source: nodes[0] })) : []),
  ];
}

const centralNames = { urlIn: "UPSTASH_REDIS_REST_URL", tokenIn: "UPSTASH_REDIS_REST_TOKEN" } as const;

function nodesIn(value: unknown): Omit<NamedRedis, "source">[] {
  const list = typeof value === "string" ? parseJson(value) : value;
  const nodes = Array.isArray(list) && list.length > 0 ? list : [undefined];
  return nodes.map((node) => {
    const { url, token } = (node ?? {}) as { url?: unknown; token?: unknown };
    return { url: String(url), tokenIn: String(token), urlIn: "REDIS_NODES" };
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The names of all bindings that say which Redis there is. */
export function redisNames(sources: readonly Source[]): string[] {
  const tokens = namedRedis(sources).map(({ tokenIn }) => tokenIn);
  return [...new Set(["UPSTASH_REDIS_REST_URL", "UPSTASH_REDIS_REST_TOKEN", "REDIS_NODES", ...tokens])];
}

/**
 * Every Redis in wrangler.toml whose token is nowhere on this machine. The token is then a secret of the deployed
 * Worker, which cannot be read back. That it is missing here is not a mistake in the configuration.
 */
export function deployedRedis(sources: readonly Source[]): NamedRedis[] {
  return namedRedis(sources).filter(({ source, tokenIn }) => {
    return source === "wrangler.toml" && lookUp(sources, tokenIn) === undefined;
  });
}

/** What to tell the user. */
export function tokenMissing(deployed: readonly NamedRedis[]): string {
  const names = deployed.map(({ tokenIn }) => tokenIn);
  const [are, them, those] = names.length === 1 ? ["is", "the token", "that"] : ["are", "the tokens", "those"];
  const secret = names.length === 1 ? "it is a secret" : "they are secrets";
  return (
    `${names.join(", ")} ${are} not on this machine: ${secret} of the deployed Worker. To use ${those} Redis here, put ` +
    `${them} into .dev.vars (see .dev.vars.example)`
  );
}

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

/** An environment inherits neither variables nor bindings. */
function configOf(file: string, environmentName: string | undefined): Bound {
  if (!file.endsWith(".toml") || !existsSync(file)) return {};
  try {
    const config = parseToml(readFileSync(file, "utf8")) as WranglerConfig;
    // An environment does not inherit the variables and bindings of the top level.
    return (environmentName ? config.env?.[environmentName] : config) ?? {};
  } catch {
    return {}; // wrangler reads the file too, and explains better what is wrong
  }
}

interface Bound {
  vars?: Record<string, unknown>;
  durable_objects?: { bindings?: { name: string }[] };
}

interface WranglerConfig extends Bound {
  env?: Record<string, Bound>;
}
