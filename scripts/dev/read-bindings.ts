// Reads the Worker's bindings as `wrangler dev` would pass them, without starting anything.

import { readFileSync } from "node:fs";
import { parse as parseToml } from "smol-toml";
import type { Bindings } from "../../src/config/settings.ts";
import { bindingSources, deployedRedis, optionValues, TOKEN_MISSING } from "./wrangler-bindings.ts";

/** Stands for a token that only the deployed Worker has. */
export const DEPLOYED_TOKEN = "a-secret-of-the-deployed-worker";

interface Service {
  readonly binding: string;
}

/**
 * Variables of the environment are not bindings, but `npm start` passes two of them on. If only the deployed Worker has
 * the token, the token is `DEPLOYED_TOKEN`, and a line on the error stream says so.
 *
 * @param args the arguments for wrangler.
 */
export function readBindings(args: string[]): Bindings {
  const { sources, configPath } = bindingSources(args, redisVariables(process.env));
  const text = readFileSync(configPath, "utf8");
  const config = parseToml(text) as { services?: Service[]; env?: Record<string, { services?: Service[] }> };
  const [name] = optionValues(args, "--env", "-e");
  const services = (name ? config.env?.[name]?.services : config.services) ?? [];
  const bound = services.map(({ binding }): [string, unknown] => [binding, { fetch() {} }]);
  const bindings = Object.assign(Object.fromEntries(bound), ...sources.toReversed().map(([, values]) => values));
  if (deployedRedis(sources) === undefined) return bindings;
  console.error(`note: ${TOKEN_MISSING}`);
  return { ...bindings, UPSTASH_REDIS_REST_TOKEN: DEPLOYED_TOKEN };
}

function redisVariables(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const names = ["UPSTASH_REDIS_REST_URL", "UPSTASH_REDIS_REST_TOKEN"];
  return Object.fromEntries(names.flatMap((name) => (environment[name] ? [[name, environment[name]]] : [])));
}
