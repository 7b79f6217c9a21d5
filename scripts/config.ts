/**
 * `npm run config [-- --env NAME --var NAME:VALUE …]`: prints the configuration as the Worker would understand it, defaults
 * filled in and secrets hidden, or every mistake in it. Starts nothing. Exit status 0 if it is right, 1 if not.
 */

import { readFileSync } from "node:fs";
import { parse as parseToml } from "smol-toml";
import { describeMistake } from "../src/config/mistake.ts";
import { writePolicy } from "../src/config/policies.ts";
import { type Bindings, parseSettings, type Settings } from "../src/config/settings.ts";
import { policyWarnings } from "../src/config/warnings.ts";
import { bindingSources, optionValues } from "./wrangler-bindings.ts";

try {
  const parsed = parseSettings(readBindings(process.argv.slice(2)));
  if (parsed.mistakes) {
    console.error(`${parsed.mistakes.length} mistakes in the configuration:`);
    for (const mistake of parsed.mistakes) console.error(`- ${describeMistake(mistake)}`);
    process.exitCode = 1;
  } else {
    console.log(JSON.stringify(effective(parsed.value), null, 2));
    for (const warning of policyWarnings(parsed.value.policies)) console.error(`warning: ${warning}`);
  }
} catch (error) {
  console.error(`config: ${(error as Error).message}`);
  process.exitCode = 1;
}

/** Bindings as `wrangler dev` would pass them; the environment is no binding by itself, but `npm start` hands two on. */
function readBindings(args: string[]): Bindings {
  const { sources, configPath } = bindingSources(args, redisVariables(process.env));
  const text = readFileSync(configPath, "utf8");
  const config = parseToml(text) as { services?: Service[]; env?: Record<string, { services?: Service[] }> };
  const [name] = optionValues(args, "--env", "-e");
  const services = (name ? config.env?.[name]?.services : config.services) ?? [];
  const bound = services.map(({ binding }): [string, unknown] => [binding, { fetch() {} }]);
  return Object.assign(Object.fromEntries(bound), ...sources.toReversed().map(([, values]) => values));
}

interface Service {
  readonly binding: string;
}

function redisVariables(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const names = ["UPSTASH_REDIS_REST_URL", "UPSTASH_REDIS_REST_TOKEN"];
  return Object.fromEntries(names.flatMap((name) => (environment[name] ? [[name, environment[name]]] : [])));
}

function effective({ policies, redis, origin, region, regions, keySecret, ...rest }: Settings): unknown {
  return {
    store: redis ? { kind: "redis", ...redis, token: "(hidden)" } : { kind: "memory" },
    origin: origin.kind === "url" ? { kind: "url", url: origin.url.href } : { kind: origin.kind },
    region: region ?? "by request",
    regions,
    keySecret: keySecret === undefined ? "derived from the Redis token" : "(hidden)",
    ...rest,
    policies: policies.map(writePolicy),
  };
}
