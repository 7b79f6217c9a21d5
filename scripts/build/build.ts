/**
 * `npm run build`: compiles the npm package into dist/, one module with its types for each source file. What can be
 * required is also in dist/cjs, as CommonJS. The command line becomes one file without types.
 */

import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { transformSync } from "esbuild";
import { buildCjs } from "./build-cjs.ts";
import { buildCli } from "./build-cli.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const DIST = join(ROOT, "dist");

interface Entry {
  readonly default: string;
  /** For Node that can require ES modules (for bundlers: `module`): `require` and `import` give the same module. */
  readonly "module-sync"?: string;
  /** The same in CommonJS, for other programs. */
  readonly require?: string;
}

/** @throws if a source has a type error. */
export function build(): void {
  rmSync(DIST, { recursive: true, force: true });
  compile(DIST);
  const { exports } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    readonly exports: Readonly<Record<string, Entry>>;
  };
  const entries = Object.values(exports);
  const modules = entries.flatMap((entry) => [entry.default, entry["module-sync"] ?? entry.default]);
  removeAllBut(reachedFrom(modules.flatMap((file) => [join(ROOT, file), join(ROOT, declarationOf(file))])));
  const inCjs = entries.flatMap(({ require }) => require ?? []).map((file) => relative("dist/cjs", file));
  const declarations = reachedFrom(inCjs.map((file) => join(DIST, declarationOf(file))));
  buildCjs(
    join(DIST, "cjs"),
    inCjs,
    [...declarations].map((file) => relative(DIST, file)),
  );
  buildCli(join(DIST, "cli"));
}

function declarationOf(file: string): string {
  return file.replace(/\.js$/, ".d.ts");
}

/** The files, and all that they import. */
function reachedFrom(files: readonly string[]): ReadonlySet<string> {
  const reached = new Set<string>();
  const visit = (file: string) => {
    if (reached.has(file)) return;
    reached.add(file);
    if (!/\.(?:js|ts)$/.test(file)) return;
    for (const [, target = ""] of readFileSync(file, "utf8").matchAll(/\b(?:from|import)\s*\(?\s*"(\.[^"]+)"/g)) {
      const path = join(dirname(file), target);
      visit(file.endsWith(".d.ts") ? declarationOf(path) : path);
    }
  };
  files.forEach(visit);
  return reached;
}

/** Removes what no entry of the package imports: most declarations of inner files, and files that hold only types. */
function removeAllBut(reached: ReadonlySet<string>): void {
  for (const name of readdirSync(DIST, { recursive: true, encoding: "utf8" })) {
    const file = join(DIST, name);
    if (/\.(?:js|ts)$/.test(name) && !reached.has(file)) rmSync(file);
  }
}

/** Compiles all but the command line. @throws if a source has a type error. */
export function compile(folder: string): void {
  const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
  const { status, stdout } = spawnSync(process.execPath, [tsc, "-p", "tsconfig.build.json", "--outDir", folder], {
    cwd: ROOT,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`tsc failed:\n${stdout}`);
  for (const file of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    if (!/\.(?:js|ts)$/.test(file)) continue;
    const path = join(folder, file);
    const text = readFileSync(path, "utf8");
    // Editors show the comments of the declarations: those of the code would be a quarter of it. The compiler changes
    // the extensions of imports in JavaScript files, but not in declarations.
    const changed = file.endsWith(".js")
      ? transformSync(text, { target: "esnext", legalComments: "none" }).code
      : text.replace(/(["'])(\.\.?\/[^"']+)\.tsx?\1/g, "$1$2.js$1");
    writeFileSync(path, changed);
  }
}

/** Packs the built package. @returns the path of the tarball. */
export function pack(directory: string): string {
  const args = ["pack", "--ignore-scripts", "--silent", "--pack-destination", directory];
  const { status, stdout, stderr } = spawnSync("npm", args, { cwd: ROOT, encoding: "utf8" });
  if (status !== 0) throw new Error(`npm pack failed:\n${stdout}${stderr}`);
  return join(directory, stdout.trim().split("\n").at(-1)!);
}

if (import.meta.main) build();
