/** Warnings about what is allowed in wrangler's file and surely not meant. */

import { isTable, parseJson } from "../../config/bindings.ts";
import type { Bindings } from "../../config/settings.ts";
import { type Bound, boundIn, type WranglerConfig } from "../wrangler/config-file.ts";
import { BINDING_NAMES, meantBinding } from "./binding-names.ts";
import { nearest } from "./nearest.ts";

export interface Found {
  readonly bindings: Bindings;
  readonly config: WranglerConfig;
  readonly environmentName: string | undefined;
}

export function surelyWrong(found: Found): string[] {
  const { bindings, config, environmentName } = found;
  const bound = boundIn(config, environmentName);
  return [
    ...misplaced(config, bound),
    ...notInherited(config, bound, environmentName),
    ...unlimited(bound),
    ...misspelt(bindings),
    ...policiesOf(bindings).flatMap(([policy, path]) => methods(policy, path)),
  ];
}

/** Fields of wrangler's file. In TOML every line below `[vars]` is a variable, up to the next heading. */
const WRANGLER_FIELDS = [
  ...[
    "account_id",
    "assets",
    "compatibility_date",
    "compatibility_flags",
    "d1_databases",
    "durable_objects",
    "keep_names",
  ],
  ...["kv_namespaces", "main", "migrations", "minify", "observability", "placement", "preview_urls", "r2_buckets"],
  ...["route", "routes", "services", "triggers", "upload_source_maps", "workers_dev"],
];

function misplaced(config: WranglerConfig, { vars }: Bound): string[] {
  const inVars = Object.keys(vars).filter((name) => WRANGLER_FIELDS.includes(name));
  const isVariable = (name: string) => BINDING_NAMES.includes(name) || /^POLICIES_\d+$/.test(name);
  return [
    ...inVars.map(
      (name) => `vars.${name}: wrangler does not look for ${name} among the variables. Move it above [vars]`,
    ),
    ...Object.keys(config)
      .filter(isVariable)
      .map((name) => `${name}: the Worker sees only variables. Move it into [vars]`),
  ];
}

function notInherited(config: WranglerConfig, bound: Bound, environmentName: string | undefined): string[] {
  const isMissing =
    environmentName !== undefined &&
    boundIn(config, undefined).vars.POLICIES !== undefined &&
    bound.vars.POLICIES === undefined;
  return isMissing
    ? [`env.${environmentName}: an environment does not inherit [vars]. Give it POLICIES and all other variables`]
    : [];
}

/** Cloudflare answers a request for a static file by itself, unless the Worker comes first. */
function unlimited({ assets }: Bound): string[] {
  if (assets.directory === undefined || assets.run_worker_first === true) return [];
  return ["assets.run_worker_first: requests for static files are answered without limits. Set it to true"];
}

function misspelt(bindings: Bindings): string[] {
  const nodes: unknown = parsed(bindings.REDIS_NODES);
  const tokens = Array.isArray(nodes) ? nodes.map((node) => (isTable(node) ? node.token : undefined)) : [];
  return Object.keys(bindings).flatMap((name) => {
    const meant = tokens.includes(name) ? undefined : meantBinding(name);
    // With the right name beside it, the other one is a variable of the user's own program.
    return meant === undefined || bindings[meant] !== undefined ? [] : [`${name} is not read. Did you mean ${meant}?`];
  });
}

/** Every policy that is a table, and its place. */
function policiesOf(bindings: Bindings): [policy: Record<string, unknown>, path: string][] {
  return Object.keys(bindings)
    .filter((name) => /^POLICIES(?:_\d+)?$/.test(name))
    .flatMap((name) => {
      const list: unknown = parsed(bindings[name]);
      const policies = Array.isArray(list) ? (list as unknown[]) : [];
      return policies.flatMap((policy, i): [Record<string, unknown>, string][] =>
        isTable(policy) ? [[policy, `${name}[${i}]`]] : [],
      );
    });
}

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY"];

function methods({ match, cost }: Record<string, unknown>, path: string): string[] {
  const rules: [unknown, string][] = [
    [match, `${path}.match`],
    ...(Array.isArray(cost) ? (cost as unknown[]) : []).map((rule, i): [unknown, string] => [
      rule,
      `${path}.cost[${i}]`,
    ]),
  ];
  return rules.flatMap(([rule, place]) =>
    [isTable(rule) ? rule.method : []].flat().flatMap((method: unknown) => {
      if (typeof method !== "string" || METHODS.includes(method.toUpperCase())) return [];
      const meant = nearest(method, METHODS);
      return meant === undefined ? [] : [`${place}.method: no client sends ${method}. Did you mean ${meant}?`];
    }),
  );
}

/** A variable may be JSON in a text. */
function parsed(value: unknown): unknown {
  return typeof value === "string" ? parseJson(value) : value;
}
