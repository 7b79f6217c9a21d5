/** The layers of src/, as a rule about import lines: `worker → gateway → http → limiter → region → store → …`. */

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

/** What a layer (a folder, or a file at the top of src/) may import besides itself. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  core: [],
  redis: [],
  lru: [],
  "check-options": [],
  partition: ["lru", "pattern"],
  client: [],
  pattern: [],
  config: ["core", "pattern"],
  store: ["check-options", "core", "lru", "redis"],
  region: ["core", "lru", "store"],
  limiter: ["check-options", "config", "core", "lru", "partition", "region", "store"],
  http: ["check-options", "config", "core", "lru", "partition", "pattern", "limiter"],
  health: ["region", "store"],
  hono: ["config", "core", "http", "limiter"],
  version: [],
  gateway: ["config", "core", "health", "http", "limiter", "region", "store", "version"],
  service: ["config", "core", "gateway", "limiter"],
  index: ["config", "core", "http", "limiter", "store"],
  worker: ["config", "gateway", "service"],
};

/** Where the rule is broken, a line each; none if it holds. @param root the folder that holds the layers. */
export function brokenRules(root: string): string[] {
  return readdirSync(root, { recursive: true, encoding: "utf8" })
    .filter((file) => /\.tsx?$/.test(file))
    .flatMap((file) => {
      const layer = layerOf(file);
      const allowed = MAY_IMPORT[layer];
      if (!allowed) return [`${file}: no layer is named ${layer}`];
      return importsOf(join(root, file))
        .map((target) => relative(root, resolve(dirname(join(root, file)), target)))
        .filter((target) => !target.startsWith(".."))
        .filter((target) => layerOf(target) !== layer && !allowed.includes(layerOf(target)))
        .map((target) => `${file} imports ${target}: ${layer} may import ${allowed.join(", ") || "nothing"}`);
    });
}

function importsOf(file: string): string[] {
  const source = readFileSync(file, "utf8");
  return [...source.matchAll(/(?:^|\n)(?:import|export)\b[^;]*?from "(\.[^"]+)"/g)].map(([, target]) => target!);
}

function layerOf(file: string): string {
  return file.split("/")[0]!.replace(/\.tsx?$/, "");
}

if (import.meta.main) {
  const broken = brokenRules(new URL("../../src", import.meta.url).pathname);
  for (const line of broken) console.error(line);
  console.log(broken.length === 0 ? "imports point one way" : `${broken.length} imports point the wrong way`);
  process.exitCode = broken.length === 0 ? 0 : 1;
}
