/**
 * The layers of src/ as a rule for import lines: `worker → gateway → http → limiter → isolate → store → …`, and those
 * of console/src: `app → pages → changes → charts → parts → data → api`.
 */

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

/** What a layer may import besides itself. A layer is a folder, or a file at the top of src/. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  core: [],
  redis: ["time-budget"],
  "bounded-map": [],
  "check-options": [],
  "time-budget": [],
  partition: ["bounded-map"],
  keys: ["bounded-map", "partition", "pattern"],
  client: [],
  llm: ["core"],
  pattern: ["bounded-map"],
  config: ["core", "keys", "pattern"],
  store: ["bounded-map", "check-options", "config", "core", "redis"],
  isolate: ["bounded-map", "check-options", "config", "core", "store", "time-budget"],
  limiter: ["bounded-map", "check-options", "config", "core", "isolate", "keys", "partition", "store", "time-budget"],
  stats: ["config", "core", "isolate", "limiter", "store", "time-budget"],
  http: ["bounded-map", "check-options", "config", "core", "keys", "llm", "partition", "pattern", "limiter", "stats"],
  health: ["isolate", "store"],
  hono: ["core", "http", "limiter"],
  version: [],
  "on-first-use": ["config", "http", "limiter", "stats", "store", "version"],
  gateway: ["config", "health", "http", "isolate", "limiter", "on-first-use", "stats", "store", "version"],
  service: ["config", "core", "gateway", "limiter"],
  "durable-object": ["config", "limiter", "store"],
  index: ["config", "core", "http", "isolate", "limiter", "store"],
  worker: ["config", "gateway", "service", "stats", "store"],
  // Needs vitest, which no Worker has: no other layer may import it.
  testing: ["core", "store"],
  // Runs in Node: no other layer may import it.
  cli: ["bounded-map", "config", "core", "http", "keys", "limiter", "partition", "version"],
};

/** The same for the console. */
const CONSOLE_MAY_IMPORT: typeof MAY_IMPORT = {
  api: [],
  data: ["api"],
  route: ["data"],
  parts: ["api", "data"],
  charts: ["api", "data", "parts"],
  changes: ["api", "data", "parts", "route"],
  pages: ["api", "data", "parts", "charts", "changes", "route"],
  keys: ["data", "route"],
  header: ["api", "data", "parts", "route"],
  app: ["changes", "data", "header", "keys", "pages", "route"],
  main: ["app"],
};

/** Returns a line for each broken rule. @param root the folder that holds the layers. */
export function brokenRules(root: string, mayImport = MAY_IMPORT): string[] {
  return sourcesIn(root).flatMap((file) => {
    const layer = layerOf(file);
    const allowed = mayImport[layer];
    if (!allowed) return [`${file}: no layer is named ${layer}`];
    return importsOf(join(root, file))
      .map((target) => relative(root, resolve(dirname(join(root, file)), target)))
      .filter((target) => !target.startsWith(".."))
      .filter((target) => layerOf(target) !== layer && !allowed.includes(layerOf(target)))
      .map((target) => `${file} imports ${target}: ${layer} may import ${allowed.join(", ") || "nothing"}`);
  });
}

/** Returns a line for each cycle of files that import each other. Type imports count too. */
export function importCycles(root: string): string[] {
  const cycles: string[] = [];
  const done = new Set<string>();
  const path: string[] = [];

  function visit(file: string): void {
    const at = path.indexOf(file);
    if (at >= 0) cycles.push([...path.slice(at), file].map((one) => relative(root, one)).join(" → "));
    if (at >= 0 || done.has(file)) return;
    path.push(file);
    for (const target of importsOf(file)) visit(resolve(dirname(file), target));
    path.pop();
    done.add(file);
  }

  for (const file of sourcesIn(root)) visit(join(root, file));
  return cycles;
}

function sourcesIn(root: string): string[] {
  return readdirSync(root, { recursive: true, encoding: "utf8" }).filter((file) => /\.tsx?$/.test(file));
}

/** What `import … from` and `export … from` name, and then `import "…"` and `import("…")`, of a type or at run time. */
const IMPORTED = /(?:^|\n)(?:import|export)\b[^;]*?from "(\.[^"]+)"|\bimport\s*\(?\s*"(\.[^"]+)"/g;

function importsOf(file: string): string[] {
  const source = readFileSync(file, "utf8");
  return [...source.matchAll(IMPORTED)].map(([, listed, bare]) => (listed ?? bare)!);
}

function layerOf(file: string): string {
  return file.split("/")[0]!.replace(/\.tsx?$/, "");
}

if (import.meta.main) {
  const root = new URL("../../src", import.meta.url).pathname;
  const page = new URL("../../console/src", import.meta.url).pathname;
  const broken = [
    ...[...brokenRules(root), ...importCycles(root)],
    ...[...brokenRules(page, CONSOLE_MAY_IMPORT), ...importCycles(page)].map((line) => `console: ${line}`),
  ];
  for (const line of broken) console.error(line);
  console.log(broken.length === 0 ? "imports point one way" : `${broken.length} imports point the wrong way`);
  process.exitCode = broken.length === 0 ? 0 : 1;
}
