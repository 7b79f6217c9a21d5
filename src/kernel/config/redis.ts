/** The bindings of the central Redis, or of several. */

import { noField } from "../nearest.ts";
import { type Get, isHttpUrl, isTable, parseJson, schemeOf, type Wrong } from "./bindings.ts";
import { isRegionName, REGION_EXPECTED } from "./regions.ts";

export interface RedisSettings {
  /** At least one node. Nodes without a region come first. If no node is `live`, the first holds the live document. */
  readonly nodes: readonly RedisNode[];
  /** Time budget of one decision's calls. */
  readonly timeoutMs: number;
}

interface RedisNode {
  /** As in `REDIS_NODES`. Absent: the Redis of `UPSTASH_REDIS_REST_URL`. */
  readonly name?: string;
  readonly url: string;
  readonly token: string;
  /** The region whose limits count there. Absent: the nodes without a region share all other keys. */
  readonly region?: string;
  /** Whether it holds the live document. At most one node does. */
  readonly live?: true;
}

/** Undefined: no Redis is configured, or its bindings have mistakes. */
export function readRedis(get: Get, wrong: Wrong, timeoutMs: number): RedisSettings | undefined {
  const central = readCentral(get, wrong);
  let isWrong = false;
  const nodes = readNodes(get, (...mistake) => {
    isWrong = true;
    wrong(...mistake);
  });
  if (central && nodes) {
    wrong("ERR_REDIS_NODES", "REDIS_NODES", "either REDIS_NODES or UPSTASH_REDIS_REST_URL", "both");
    return undefined;
  }
  if (central) return { nodes: [central], timeoutMs };
  if (!nodes || isWrong) return undefined;
  const shared = nodes.filter(({ region }) => region === undefined);
  if (shared.length === 0) {
    const expected = "at least one node without a region: it holds the limits of all regions";
    wrong("ERR_REDIS_NODES", "REDIS_NODES", expected, "nodes with a region only");
  }
  return { nodes: [...shared, ...nodes.filter(({ region }) => region !== undefined)], timeoutMs };
}

function readCentral(get: Get, wrong: Wrong): RedisNode | undefined {
  const [url, token] = [get("UPSTASH_REDIS_REST_URL"), get("UPSTASH_REDIS_REST_TOKEN")];
  if (url === undefined && token === undefined) return undefined;

  if (!isHttpUrl(url)) wrong("ERR_REDIS_URL", "UPSTASH_REDIS_REST_URL", URL_EXPECTED, schemeOf(url));
  if (!isToken(token)) {
    const found = token === undefined ? undefined : "a value that is not shown";
    wrong("ERR_REDIS_TOKEN", "UPSTASH_REDIS_REST_TOKEN", TOKEN_EXPECTED, found);
  }
  return { url: String(url), token: String(token) };
}

const URL_EXPECTED = "the http(s) URL of the REST service, without credentials (not redis://)";
const TOKEN_EXPECTED = "the token of the REST service, without white space";

function isToken(token: unknown): token is string {
  return typeof token === "string" && !/\s/.test(token);
}

/** A decision calls each node at most once, and 100 names are scored in microseconds. */
const MAX_NODES = 100;
/** The fields of a node. */
const NODE_FIELDS: readonly string[] = ["name", "url", "token", "region", "live"];
const NODE_NAME = /^[a-z0-9][a-z0-9-]{0,31}$/;

/** Undefined: `REDIS_NODES` is absent. */
function readNodes(get: Get, wrong: Wrong): RedisNode[] | undefined {
  const value = get("REDIS_NODES");
  if (value === undefined) return undefined;
  const list = typeof value === "string" ? parseJson(value) : value;
  if (!Array.isArray(list) || list.length === 0 || list.length > MAX_NODES) {
    const expected = `an array of 1 to ${MAX_NODES} nodes { name, url, token, region, live }, or its JSON`;
    wrong("ERR_REDIS_NODES", "REDIS_NODES", expected, Array.isArray(list) ? `${list.length} nodes` : kindOf(value));
    return [];
  }
  return list.flatMap((node: unknown, i) => {
    const path = `REDIS_NODES[${i}]`;
    if (!isTable(node)) {
      wrong("ERR_REDIS_NODES", path, "a table { name, url, token, region, live }", kindOf(node));
      return [];
    }
    return [readNode(node, path, list.slice(0, i), get, wrong)];
  });
}

function readNode(
  node: Readonly<Record<string, unknown>>,
  path: string,
  before: readonly unknown[],
  get: Get,
  wrong: Wrong,
): RedisNode {
  const { name, url, token, region, live = false } = node;
  const mistake = (field: string, expected: string, found: unknown) => {
    wrong("ERR_REDIS_NODES", `${path}.${field}`, expected, found);
  };
  const isTaken = (field: "name" | "live") => before.some((one) => isTable(one) && one[field] === node[field]);
  for (const field of Object.keys(node)) {
    if (!NODE_FIELDS.includes(field)) mistake(field, noField(field, NODE_FIELDS), "an unknown field");
  }
  if (typeof name !== "string" || !NODE_NAME.test(name)) {
    mistake("name", "1 to 32 lower case letters, digits or -, beginning with a letter or digit", name);
  } else if (isTaken("name")) {
    mistake("name", "a name that no other node has: it decides which keys lie there", name);
  }
  if (!isHttpUrl(url)) mistake("url", URL_EXPECTED, schemeOf(url));
  if (region !== undefined && !isRegionName(region)) mistake("region", REGION_EXPECTED, region);
  if (typeof live !== "boolean") mistake("live", "true or false: whether this node holds the live document", live);
  if (live === true && isTaken("live")) {
    mistake("live", "one node with live = true: it holds the live document", "a second one");
  }
  return {
    name: String(name),
    url: String(url),
    token: readSecret(token, `${path}.token`, get, wrong),
    ...(typeof region === "string" && { region }),
    ...(live === true && { live }),
  };
}

/** The value of the secret that a node names. */
function readSecret(name: unknown, path: string, get: Get, wrong: Wrong): string {
  // A token that was put here by mistake must not appear in a message.
  if (typeof name !== "string" || !/^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(name)) {
    const expected = "the name of a secret that holds the node's token, such as REDIS_TOKEN_A";
    wrong("ERR_REDIS_NODES", path, expected, name === undefined ? undefined : "a value that is not shown");
    return "";
  }
  const token = get(name);
  if (isToken(token)) return token;
  const found = token === undefined ? "no secret with that name" : "a value that is not shown";
  wrong("ERR_REDIS_NODES", path, `the name of a secret: ${TOKEN_EXPECTED}`, found);
  return "";
}

/** The kind of a value that may hold secrets. */
function kindOf(value: unknown): string {
  if (typeof value === "string") return "a string that is not a JSON array";
  return Array.isArray(value) ? "an array" : value === null ? "null" : `a value of type ${typeof value}`;
}
