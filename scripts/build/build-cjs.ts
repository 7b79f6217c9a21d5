/**
 * Bundles the entries that CommonJS can require. All of them are in one file, so that they share what a program has
 * once: a store made by `headgate` is known to the adapter of `headgate/express`.
 */

import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";
import { writeLicenses } from "./build-cli.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const CHUNK = "headgate.js";

/**
 * The dependencies are ES modules, which CommonJS cannot require everywhere: they are bundled.
 *
 * @param entries paths of their JavaScript below `folder`; each is the path of its source below src/, too.
 * @param declarations their declarations and all that these import, relative to dist/. They are copied, because in
 * `folder` they describe CommonJS.
 */
export function buildCjs(folder: string, entries: readonly string[], declarations: readonly string[]): void {
  const sources = entries.map((file) => `./src/${file.replace(/\.js$/, ".ts")}`);
  const { metafile } = buildSync({
    absWorkingDir: ROOT,
    stdin: { contents: sources.map((file, i) => `export * as entry${i} from "${file}";`).join("\n"), resolveDir: ROOT },
    outfile: join(folder, CHUNK),
    bundle: true,
    format: "cjs",
    platform: "neutral",
    target: "es2022",
    // Without comments. Names and lines stay, for stack traces.
    minifyWhitespace: true,
    lineLimit: 120,
    legalComments: "none",
    metafile: true,
  });
  writeLicenses(folder, metafile);
  // The package is one of ES modules, except for this folder.
  writeFileSync(join(folder, "package.json"), '{ "type": "commonjs", "sideEffects": false }\n');
  for (const file of declarations) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    copyFileSync(join(folder, "..", file), join(folder, file));
  }
  for (const [i, file] of entries.entries()) {
    const chunk = relative(dirname(file), CHUNK);
    const path = chunk.startsWith(".") ? chunk : `./${chunk}`;
    // Copied, because tests replace members: what esbuild exports are getters, which cannot be set.
    writeFileSync(join(folder, file), `module.exports = { ...require("${path}").entry${i} };\n`);
  }
}
