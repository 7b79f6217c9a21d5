// Which store `npm start` uses: where UPSTASH_REDIS_REST_URL is set, as `wrangler dev` will see it, and what has to be
// handed on because wrangler would not see it.

import { bindingSources, deployedRedis, lookUp } from "./wrangler-bindings.ts";

const URL_NAME = "UPSTASH_REDIS_REST_URL";
const TOKEN_NAME = "UPSTASH_REDIS_REST_TOKEN";

export interface ConfiguredStore {
  /** The URL and where it was found; absent if it is set nowhere. */
  found?: { url: string; source: string };
  /** The URL in wrangler.toml of a Redis that cannot be used here, because its token is not on this machine. */
  unusable?: string;
  /** Whether the Durable Object `COUNTS` is bound. */
  hasCounts: boolean;
  /**
   * The text of one more `--env-file`, if something came from the environment, which is no Worker binding by itself. A
   * file, since a command line can be read by every user of the machine. Absent if wrangler finds everything by itself.
   */
  envFile?: string;
  /**
   * Env files that wrangler would have read without being asked, and no longer does once it is given an `--env-file`.
   */
  otherEnvFiles: string[];
}

/** The first source that has a name wins, each name by itself, and an empty value counts as absent. */
export function findConfiguredStore(wranglerArgs: string[], environment: NodeJS.ProcessEnv): ConfiguredStore {
  const { sources, fromDevVars, defaultEnvFiles, objects } = bindingSources(wranglerArgs, environment);
  const hasCounts = objects.includes("COUNTS");
  const unusable = deployedRedis(sources);
  if (unusable !== undefined) return { unusable, hasCounts, otherEnvFiles: [] };
  const url = lookUp(sources, URL_NAME);
  if (url === undefined) return { hasCounts, otherEnvFiles: [] };
  const token = lookUp(sources, TOKEN_NAME);
  const handedOn: Record<string, string> = {};
  if (url.source === "the environment") handedOn[URL_NAME] = url.value;
  if (token?.source === "the environment") handedOn[TOKEN_NAME] = token.value;
  const found = { url: url.value, source: url.source };
  if (Object.keys(handedOn).length === 0) return { found, hasCounts, otherEnvFiles: [] };
  // wrangler reads .dev.vars as it stands but expands `$NAME` in env files, so its values move into ours, escaped.
  return { found, hasCounts, envFile: formatEnv({ ...fromDevVars, ...handedOn }), otherEnvFiles: defaultEnvFiles };
}

/** Values as dotenv and dotenv-expand give them back unchanged: quoted with a quote they do not hold, `$` escaped. */
function formatEnv(values: NodeJS.Dict<string>): string {
  const lines = Object.entries(values).map(([name, value = ""]) => {
    const quote = ["'", "`", '"'].find((candidate) => !value.includes(candidate)) ?? "'";
    return `${name}=${quote}${value.replaceAll("$", "\\$")}${quote}\n`;
  });
  return lines.join("");
}
