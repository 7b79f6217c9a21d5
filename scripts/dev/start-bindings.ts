// The bindings that `wrangler dev` will see, and an env file for those that it would not see.

import { exists } from "../../src/cli/files.ts";
import { type BindingSources, bindingSources } from "../../src/cli/wrangler/bindings.ts";
import { ConfigFileError, readConfigFile, type WranglerConfig } from "../../src/cli/wrangler/config-file.ts";
import { wranglerOptions } from "./wrangler-options.ts";

export function findSources(wranglerArgs: string[], environment: NodeJS.ProcessEnv): BindingSources {
  const options = wranglerOptions(wranglerArgs, environment);
  return bindingSources(options, readLeniently(options.configPath), environment);
}

/** A file that is missing or broken is left to wrangler: it reads the file too, and explains better what is wrong. */
function readLeniently(path: string): WranglerConfig {
  if (!exists(path)) return {};
  try {
    return readConfigFile(path);
  } catch (error) {
    if (error instanceof ConfigFileError) return {};
    throw error;
  }
}

/**
 * What an `--env-file` must hold, so that wrangler sees these variables: a file, because every user of the machine can
 * read a command line. wrangler then reads neither .dev.vars nor its other env files by itself.
 */
export function envFileWith(
  variables: Readonly<Record<string, string>>,
  { fromDevVars, defaultEnvFiles }: BindingSources,
): { readonly text: string; readonly others: readonly string[] } {
  // wrangler reads .dev.vars unchanged but expands `$NAME` in env files. Therefore the values move into our file,
  // escaped.
  return { text: formatEnv({ ...fromDevVars, ...variables }), others: defaultEnvFiles };
}

/** Quotes values for dotenv and dotenv-expand: with a quote that the value does not hold, and `$` escaped. */
function formatEnv(values: NodeJS.Dict<string>): string {
  const lines = Object.entries(values).map(([name, value = ""]) => {
    const quote = ["'", "`", '"'].find((candidate) => !value.includes(candidate)) ?? "'";
    return `${name}=${quote}${value.replaceAll("$", "\\$")}${quote}\n`;
  });
  return lines.join("");
}
