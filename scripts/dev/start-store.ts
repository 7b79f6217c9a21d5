// Finds the store for `npm start`: where `wrangler dev` will see UPSTASH_REDIS_REST_URL or REDIS_NODES, and which
// variables must be passed on because wrangler would not see them.

import { existsSync } from "node:fs";
import {
  bindingSources,
  deployedRedis,
  lookUp,
  type NamedRedis,
  namedRedis,
  redisNames,
} from "../../src/cli/wrangler/bindings.ts";
import { ConfigFileError, readConfigFile, type WranglerConfig } from "../../src/cli/wrangler/config-file.ts";
import { wranglerOptions } from "./wrangler-options.ts";

export interface ConfiguredStore {
  /** Every Redis that is configured. None: no source names one that can be used here. */
  found: readonly NamedRedis[];
  /** Those in wrangler.toml that cannot be used here, because their tokens are not on this machine. */
  unusable: readonly NamedRedis[];
  /** Whether the Durable Object `COUNTS` is bound. */
  hasCounts: boolean;
  /**
   * The text of an additional `--env-file`, if a value comes from the environment, which wrangler does not pass on. It
   * is a file, because every user of the machine can read a command line. Absent if wrangler finds every value itself.
   */
  envFile?: string;
  /** Env files that wrangler reads by default. It does not read them once it gets an `--env-file`. */
  otherEnvFiles: string[];
}

/** Each name is looked up by itself. The first source that has it wins. An empty value counts as absent. */
export function findConfiguredStore(wranglerArgs: string[], environment: NodeJS.ProcessEnv): ConfiguredStore {
  const options = wranglerOptions(wranglerArgs);
  const config = readLeniently(options.configPath);
  const { sources, fromDevVars, defaultEnvFiles, bound } = bindingSources(options, config, environment);
  const hasCounts = bound.objects.includes("COUNTS");
  const unusable = deployedRedis(sources);
  if (unusable.length > 0) return { found: [], unusable, hasCounts, otherEnvFiles: [] };
  const found = namedRedis(sources);
  if (found.length === 0) return { found, unusable, hasCounts, otherEnvFiles: [] };
  const handedOn: Record<string, string> = {};
  for (const name of redisNames(sources)) {
    const { value, source } = lookUp(sources, name) ?? {};
    if (value !== undefined && source === "the environment") handedOn[name] = value;
  }
  if (Object.keys(handedOn).length === 0) return { found, unusable, hasCounts, otherEnvFiles: [] };
  // wrangler reads .dev.vars unchanged but expands `$NAME` in env files. So the values move into our file, escaped.
  const envFile = formatEnv({ ...fromDevVars, ...handedOn });
  return { found, unusable, hasCounts, envFile, otherEnvFiles: defaultEnvFiles };
}

/** A file that is missing or broken is left to wrangler: it reads the file too, and explains better what is wrong. */
function readLeniently(path: string): WranglerConfig {
  if (!existsSync(path)) return {};
  try {
    return readConfigFile(path);
  } catch (error) {
    if (error instanceof ConfigFileError) return {};
    throw error;
  }
}

/** Quotes values for dotenv and dotenv-expand: with a quote that the value does not hold, and `$` escaped. */
function formatEnv(values: NodeJS.Dict<string>): string {
  const lines = Object.entries(values).map(([name, value = ""]) => {
    const quote = ["'", "`", '"'].find((candidate) => !value.includes(candidate)) ?? "'";
    return `${name}=${quote}${value.replaceAll("$", "\\$")}${quote}\n`;
  });
  return lines.join("");
}
