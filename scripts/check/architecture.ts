/**
 * The layers as a rule for import lines: of src/ (`entries → operate, adapters, cli → features → kernel`), of
 * console/src (`app → pages → changes → charts → parts → data → api`), and of the whole repository
 * (`tests → programs → test/support → what starts and builds → src`). No files import each other in a circle.
 */

import { readdirSync, readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";

type MayImport = Readonly<Record<string, readonly string[]>>;

/** Small files that import nothing, or each other. */
const LEAVES = ["bounded-map", "check-options", "group-by", "lines", "nearest", "sleep", "time-budget", "version"].map(
  (name) => `kernel/${name}`,
);

/** From the lowest to the highest: each may import those before it. The kernel knows no feature. */
const KERNEL = ["core", "request", "config", "store", "place", "limiter", "http"].map((name) => `kernel/${name}`);

/** Each folder is one. A feature imports the kernel alone. */
const FEATURES = readdirSync(new URL("../../src/features", import.meta.url), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => `features/${name}`);

/** What puts features together. */
const COMPOSED = ["index", "default", "order", "fields", "optional", "configuration"].map((name) => `features/${name}`);

const BELOW = [...LEAVES, ...KERNEL, ...FEATURES, ...COMPOSED];

/** What else a layer may import, and why. At most three. */
const EXCEPTIONS: MayImport = {
  // A metered answer passes through the pipe that keeps its slots.
  "features/meter": ["features/slots"],
};

/** What a layer may import besides itself. A layer is a folder, or a file. */
const MAY_IMPORT: MayImport = {
  ...Object.fromEntries(LEAVES.map((name) => [name, LEAVES])),
  ...Object.fromEntries(KERNEL.map((name, at) => [name, [...LEAVES, ...KERNEL.slice(0, at)]])),
  ...Object.fromEntries(FEATURES.map((name) => [name, [...LEAVES, ...KERNEL]])),
  ...Object.fromEntries(COMPOSED.map((name) => [name, BELOW])),
  stores: BELOW,
  adapters: BELOW,
  operate: BELOW,
  client: LEAVES,
  limiter: BELOW,
  gateway: [...BELOW, "operate", "stores"],
  service: [...BELOW, "gateway"],
  "durable-object": [...BELOW, "stores"],
  index: [...BELOW, "adapters", "limiter", "stores"],
  worker: [...BELOW, "gateway", "operate", "service"],
  // Needs vitest, which no Worker has: no other layer may import it.
  testing: [...LEAVES, ...KERNEL],
  // Runs in Node: no other layer may import it.
  cli: [...BELOW, "operate", "stores"],
};

/** The same for the console. */
const CONSOLE_MAY_IMPORT: MayImport = {
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

/** What starts a server or a browser, and what builds. It knows no test. */
const STARTS_AND_BUILDS = ["scripts/machine", "scripts/bridge", "scripts/build", "scripts/dev"] as const;

/**
 * The same for the whole repository. A layer names only layers above it.
 *
 * What tests share with programs and benchmarks lies in test/support, such as virtual time and the faults. What
 * `npm start` needs lies in scripts/, such as starting Redis. No program imports a test.
 */
export const REPOSITORY_MAY_IMPORT: MayImport = {
  src: [],
  "console/src": ["src"],
  examples: [],
  "scripts/machine": [],
  "scripts/bridge": ["scripts/machine"],
  "scripts/build": ["src"],
  "scripts/dev": ["src", "scripts/bridge", "scripts/machine"],
  "test/support": ["src", ...STARTS_AND_BUILDS],
  "scripts/docs": ["src", ...STARTS_AND_BUILDS],
  "scripts/simulate": ["src", "test/support", "scripts/docs", "scripts/build"],
  "scripts/stress": ["test/support", ...STARTS_AND_BUILDS],
  "scripts/verify": ["src", "test/support", ...STARTS_AND_BUILDS],
  "scripts/check": STARTS_AND_BUILDS,
  "site/playground": ["src", "test/support"],
  "site/.vitepress": ["site/playground"],
  bench: ["src", "test/support", "scripts/check", ...STARTS_AND_BUILDS],
  "vitest.config": STARTS_AND_BUILDS,
  test: [
    ...["src", "console/src", "test/support", "site/playground", "site/.vitepress", "bench", ...STARTS_AND_BUILDS],
    ...["scripts/check", "scripts/docs", "scripts/simulate", "scripts/verify"],
  ],
};

/** Returns a line for each broken rule. @param root the folder that holds the layers. */
export function brokenRules(root: string, mayImport = MAY_IMPORT): string[] {
  // The longest name first: a file of test/support is not one of test.
  const layers = Object.keys(mayImport).sort((a, b) => b.length - a.length);
  const layerOf = (file: string) => layers.find((layer) => file.startsWith(`${layer}/`) || stemOf(file) === layer);
  return [...importsIn(root)].flatMap(([file, targets]) => {
    const layer = layerOf(file);
    if (layer === undefined) return [`${file}: no layer of scripts/check/architecture.ts holds this file`];
    const allowed = [...mayImport[layer]!, ...(EXCEPTIONS[layer] ?? [])];
    return targets
      .filter((target) => layerOf(target) !== layer && !allowed.includes(layerOf(target)!))
      .map((target) => `${file} imports ${target}: ${layer} may import ${allowed.join(", ") || "nothing"}`);
  });
}

/** Returns a line for each cycle of files that import each other. Type imports count too. */
export function importCycles(root: string): string[] {
  const imports = importsIn(root);
  const cycles: string[] = [];
  const done = new Set<string>();
  const path: string[] = [];

  function visit(file: string): void {
    const at = path.indexOf(file);
    if (at >= 0) cycles.push([...path.slice(at), file].join(" → "));
    if (at >= 0 || done.has(file)) return;
    path.push(file);
    // A file that does not exist stands in a text: tests have programs in texts.
    for (const target of imports.get(file) ?? []) visit(target);
    path.pop();
    done.add(file);
  }

  for (const file of imports.keys()) visit(file);
  return cycles;
}

/** What `import … from` and `export … from` name, and then `import "…"` and `import("…")`, of a type or at run time. */
const IMPORTED = /(?:^|\n)(?:import|export)\b[^;]*?from "(\.[^"]+)"|\bimport\s*\(?\s*"(\.[^"]+)"/g;

/** The sources below a folder, each with the sources there that it imports. Data may be imported from everywhere. */
function importsIn(root: string): Map<string, string[]> {
  return new Map(sourcesIn(root, "").map((file) => [file, importsOf(root, file)]));
}

function importsOf(root: string, file: string): string[] {
  const found = [...readFileSync(join(root, file), "utf8").matchAll(IMPORTED)];
  return found
    .map(([, listed, bare]) => relative(root, resolve(root, file, "..", (listed ?? bare)!)))
    .filter((target) => SOURCE.test(target) && !target.startsWith(".."));
}

/** Neither packages nor what is built, nor hidden folders. */
function sourcesIn(root: string, folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return /^(\.|node_modules$|dist$)/.test(entry.name) ? [] : sourcesIn(root, path);
    return SOURCE.test(entry.name) ? [path] : [];
  });
}

const SOURCE = /\.(tsx?|mjs)$/;

const stemOf = (file: string) => file.replace(SOURCE, "");

if (import.meta.main) {
  const root = new URL("../..", import.meta.url).pathname;
  const broken = [
    ...brokenRules(join(root, "src")),
    ...brokenRules(join(root, "console/src"), CONSOLE_MAY_IMPORT).map((line) => `console: ${line}`),
    ...brokenRules(root, REPOSITORY_MAY_IMPORT),
    ...importCycles(root),
  ];
  for (const line of broken) console.error(line);
  console.log(broken.length === 0 ? "imports point one way" : `${broken.length} imports point the wrong way`);
  process.exitCode = broken.length === 0 ? 0 : 1;
}
