/** How many bytes of the bundled Worker a feature's files are. */

import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build, type Plugin } from "esbuild";

const SRC = fileURLToPath(new URL("../../src/", import.meta.url));

/** Replaces files with empty ones. CommonJS: nothing is missing when another file imports from it. */
function without(files: RegExp, found: Set<string>): Plugin {
  return {
    name: "without",
    setup({ onLoad }) {
      onLoad({ filter: /\.tsx?$/ }, ({ path }) => {
        if (!path.startsWith(SRC) || !files.test(path.slice(SRC.length))) return undefined;
        found.add(path);
        return { contents: "module.exports = {};", loader: "js" };
      });
    },
  };
}

async function bundled(plugins: Plugin[]): Promise<number> {
  const { outputFiles } = await build({
    entryPoints: [`${SRC}worker.ts`],
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2024",
    external: ["cloudflare:*"],
    plugins,
    write: false,
    logLevel: "error",
  });
  return gzipSync(outputFiles[0]!.contents).length;
}

let whole: Promise<number> | undefined;

/**
 * The size of the Worker, minified and gzipped, less that of the Worker without these files of src/, and without what
 * only they import. NaN: there is no such file.
 */
export async function addedBytes(files: RegExp): Promise<number> {
  whole ??= bundled([]);
  const found = new Set<string>();
  const rest = await bundled([without(files, found)]);
  return found.size === 0 ? Number.NaN : (await whole) - rest;
}
