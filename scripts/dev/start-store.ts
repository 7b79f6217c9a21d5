// Finds the store for `npm start`: where `wrangler dev` will see UPSTASH_REDIS_REST_URL, and which variables must be
// passed on because wrangler would not see them.

import { bindingSources, deployedRedis, lookUp } from "./wrangler-bindings.ts";

const URL_NAME = "UPSTASH_REDIS_REST_URL";
const TOKEN_NAME = "UPSTASH_REDIS_REST_TOKEN";

export interface ConfiguredStore {
  /** The URL and its source. Absent if no source has a URL. */
  found?: { url: string; source: string };
  /** The URL of a Redis in wrangler.toml that cannot be used here, because its token is not on this machine. */
  unusable?: string;
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
  const { sources, fromDevVars, defaultEnvFiles } = bindingSources(wranglerArgs, environment);
  const unusable = deployedRedis(sources);
  if (unusable !== undefined) return { unusable, otherEnvFiles: [] };
  const url = lookUp(sources, URL_NAME);
  if (url === undefined) return { otherEnvFiles: [] };
  const token = lookUp(sources, TOKEN_NAME);
  const handedOn: Record<string, string> = {};
  if (url.source === "the environment") handedOn[URL_NAME] = url.value;
  if (token?.source === "the environment") handedOn[TOKEN_NAME] = token.value;
  const found = { url: url.value, source: url.source };
  if (Object.keys(handedOn).length === 0) return { found, otherEnvFiles: [] };
  // wrangler reads .dev.vars unchanged but expands `$NAME` in env files. So the values move into our file, escaped.
  return { found, envFile: formatEnv({ ...fromDevVars, ...handedOn }), otherEnvFiles: defaultEnvFiles };
}

/** Quotes values for dotenv and dotenv-expand: with a quote that the value does not hold, and `$` escaped. */
function formatEnv(values: NodeJS.Dict<string>): string {
  const lines = Object.entries(values).map(([name, value = ""]) => {
    const quote = ["'", "`", '"'].find((candidate) => !value.includes(candidate)) ?? "'";
    return `${name}=${quote}${value.replaceAll("$", "\\$")}${quote}\n`;
  });
  return lines.join("");
}
