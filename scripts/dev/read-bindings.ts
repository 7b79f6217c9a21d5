// Reads the Worker's bindings as `wrangler dev` would pass them, without starting anything.

import { readFileSync } from "node:fs";
import { parse as parseToml } from "smol-toml";
import type { Bindings } from "../../src/config/settings.ts";
import {
  bindingSources,
  deployedRedis,
  optionValues,
  redisNames,
  type Source,
  tokenMissing,
} from "./wrangler-bindings.ts";

/** Stands for a token that only the deployed Worker has. */
export const DEPLOYED_TOKEN = "a-secret-of-the-deployed-worker";

interface Service {
  readonly binding: string;
}

/**
 * Variables of the environment are not bindings, but `npm start` passes those on that name a Redis and its token. If
 * only the deployed Worker has a token, the token is `DEPLOYED_TOKEN`, and a line on the error stream says so.
 *
 * @param args the arguments for wrangler.
 */
export function readBindings(args: string[]): Bindings {
  const found = bindingSources(args, process.env);
  const { configPath, objects } = found;
  const names = new Set(redisNames(found.sources));
  const sources = found.sources.map(([source, values]): Source => {
    return [source, source === "the environment" ? only(names, values) : values];
  });
  const text = readFileSync(configPath, "utf8");
  const config = parseToml(text) as { services?: Service[]; env?: Record<string, { services?: Service[] }> };
  const [name] = optionValues(args, "--env", "-e");
  const services = (name ? config.env?.[name]?.services : config.services) ?? [];
  const bound = services.map(({ binding }): [string, unknown] => [binding, { fetch() {} }]);
  // Namespaces that nothing is asked of.
  bound.push(...objects.map((name): [string, unknown] => [name, { idFromName() {}, get() {} }]));
  const bindings = Object.assign(Object.fromEntries(bound), ...sources.toReversed().map(([, values]) => values));
  const deployed = deployedRedis(sources);
  const secrets = deployed.map(({ tokenIn }) => tokenIn);
  // Beside nodes it is a secret of the deployed Worker too.
  if (deployed.some(({ urlIn }) => urlIn === "REDIS_NODES") && !bindings.KEY_SECRET) secrets.push("KEY_SECRET");
  if (deployed.length === 0) return bindings;
  console.error(`note: ${tokenMissing(deployed)}`);
  return { ...bindings, ...Object.fromEntries(secrets.map((name) => [name, DEPLOYED_TOKEN])) };
}

function only(names: ReadonlySet<string>, values: Source[1]): Source[1] {
  return Object.fromEntries(Object.entries(values).filter(([name, value]) => names.has(name) && value));
}
