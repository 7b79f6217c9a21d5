// The sources of the Worker's bindings on this machine, in the order in which `npm start` and `wrangler dev` prefer
// them.

import { existsSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { parseEnv } from "node:util";
import { isTable, parseJson } from "../../kernel/config/bindings.ts";
import { exists, isReadable, readText } from "../files.ts";
import { boundIn, type WranglerConfig } from "./config-file.ts";

export type ValueSource = readonly [name: string, values: Readonly<Record<string, unknown>>];

/** What the command line says about the bindings. */
export interface BindingOptions {
  /** Wrangler's configuration file. */
  readonly configPath: string;
  readonly environmentName: string | undefined;
  /** In place of `.dev.vars`. Relative paths begin at the folder of the configuration file. */
  readonly envFiles: readonly string[];
  readonly vars: Readonly<Record<string, string>>;
}

export type BindingSources = ReturnType<typeof bindingSources>;

/** @param config the content of the configuration file. */
export function bindingSources(
  { configPath, environmentName, envFiles, vars }: BindingOptions,
  config: WranglerConfig,
  environment: NodeJS.ProcessEnv,
) {
  const directory = dirname(configPath);
  const givenEnvFiles = envFiles.map((file) => resolve(directory, file));
  const devVars = devVarsFile(directory, environmentName);
  // wrangler does not read them once it gets an `--env-file`.
  const defaultEnvFiles = givenEnvFiles.length > 0 || devVars ? [] : envFilesByDefault(directory, environmentName);

  const fromFiles = Object.assign({}, ...[...givenEnvFiles, ...defaultEnvFiles].map(readEnvFile));
  const fromDevVars = givenEnvFiles.length === 0 && devVars ? readEnvFile(devVars) : {};
  const bound = boundIn(config, environmentName);
  /**
   * In order of preference. `--env-file` replaces `.dev.vars`. Without both, `.env` is read.
   */
  const sources: readonly ValueSource[] = [
    ["--var", vars],
    ["the environment", environment],
    [".dev.vars", fromDevVars],
    ["an env file", fromFiles],
    [basename(configPath), bound.vars],
  ];
  return { sources, fromDevVars, defaultEnvFiles, bound };
}

/** A text and its source. The first source that has it wins. An empty value counts as absent. */
export function lookUp(sources: readonly ValueSource[], name: string): { value: string; source: string } | undefined {
  for (const [source, values] of sources) {
    const value = values[name];
    if (typeof value === "string" && value !== "") return { value, source };
  }
  return undefined;
}

/** A Redis that the bindings name, and the names of the bindings that say so. */
export interface NamedRedis {
  readonly url: string;
  readonly source: string;
  readonly urlIn: "UPSTASH_REDIS_REST_URL" | "REDIS_NODES";
  readonly tokenIn: string;
}

/** The Redis of `UPSTASH_REDIS_REST_URL`, and those of `REDIS_NODES`. The Worker reports what is wrong with them. */
export function namedRedis(sources: readonly ValueSource[]): NamedRedis[] {
  const central = lookUp(sources, "UPSTASH_REDIS_REST_URL");
  const names = { urlIn: "UPSTASH_REDIS_REST_URL", tokenIn: "UPSTASH_REDIS_REST_TOKEN" } as const;
  const found: NamedRedis[] = central ? [{ ...names, url: central.value, source: central.source }] : [];
  const [source, { REDIS_NODES }] = sources.find(([, values]) => (values.REDIS_NODES ?? "") !== "") ?? ["", {}];
  if (REDIS_NODES === undefined) return found;
  const list = typeof REDIS_NODES === "string" ? parseJson(REDIS_NODES) : REDIS_NODES;
  const nodes: unknown[] = Array.isArray(list) && list.length > 0 ? list : [undefined];
  for (const node of nodes) {
    const { url, token } = isTable(node) ? node : {};
    found.push({ url: String(url), source, urlIn: "REDIS_NODES", tokenIn: String(token) });
  }
  return found;
}

/** The names of all bindings that say which Redis there is. */
export function redisNames(sources: readonly ValueSource[]): string[] {
  const tokens = namedRedis(sources).map(({ tokenIn }) => tokenIn);
  return [...new Set(["UPSTASH_REDIS_REST_URL", "UPSTASH_REDIS_REST_TOKEN", "REDIS_NODES", ...tokens])];
}

/**
 * Every Redis in wrangler's file whose token is nowhere on this machine. The token is then a secret of the deployed
 * Worker, which cannot be read back. That it is missing here is not a mistake in the configuration.
 */
export function deployedRedis(sources: readonly ValueSource[]): NamedRedis[] {
  const file = sources.at(-1)![0];
  return namedRedis(sources).filter(({ source, tokenIn }) => source === file && !lookUp(sources, tokenIn));
}

/** What to tell the user. */
export function tokenMissing(deployed: readonly NamedRedis[]): string {
  const names = deployed.map(({ tokenIn }) => tokenIn);
  const are =
    names.length === 1 ? "is not on this machine: it is a secret" : "are not on this machine: they are secrets";
  return `${names.join(", ")} ${are} of the deployed Worker. To use Redis here, put it into .dev.vars (see .dev.vars.example)`;
}

/**
 * The environment that wrangler takes: `--env`, or else `CLOUDFLARE_ENV`, which the process or an env file sets. An
 * empty one is none.
 *
 * @param folder where wrangler runs: these env files begin there.
 */
export function environmentNameOf(
  option: string | undefined,
  environment: NodeJS.ProcessEnv,
  envFiles: readonly string[],
  folder: string,
): string | undefined {
  if (option !== undefined) return option || undefined;
  const files =
    envFiles.length > 0 ? envFiles.map((file) => resolve(folder, file)) : envFilesByDefault(folder, undefined);
  const { CLOUDFLARE_ENV } = Object.assign({}, ...files.map(readEnvFile)) as NodeJS.ProcessEnv;
  return environment.CLOUDFLARE_ENV || CLOUDFLARE_ENV || undefined;
}

/** wrangler reads only the first of these files that exists. */
function devVarsFile(directory: string, environmentName: string | undefined): string | undefined {
  const names = environmentName ? [`.dev.vars.${environmentName}`, ".dev.vars"] : [".dev.vars"];
  return names.map((name) => resolve(directory, name)).find((file) => existsSync(file));
}

/** wrangler passes over a folder: programs of Python make one of the name `.env`. */
function envFilesByDefault(directory: string, environmentName: string | undefined): string[] {
  const names = [".env", ".env.local"];
  if (environmentName) names.push(`.env.${environmentName}`, `.env.${environmentName}.local`);
  return names.map((name) => resolve(directory, name)).filter(isReadable);
}

function readEnvFile(file: string): NodeJS.Dict<string> {
  return exists(file) ? parseEnv(readText("", file, basename(file))) : {};
}
