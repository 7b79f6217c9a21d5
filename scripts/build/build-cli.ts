/** Bundles `npx headgate` into one file of plain JavaScript. */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/**
 * Dependencies of the package stay imports. What is bundled is only needed here: the parsers of wrangler's files, and
 * the parts of Hono that render pages, because Hono is not installed with the package. Their licenses are written
 * beside the bundle.
 */
export function buildCli(folder: string): void {
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { dependencies: object };
  const { metafile } = buildSync({
    absWorkingDir: ROOT,
    entryPoints: ["src/cli/main.ts"],
    outfile: join(folder, "headgate.js"),
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    banner: { js: "#!/usr/bin/env node" },
    legalComments: "none",
    external: Object.keys(dependencies),
    metafile: true,
  });
  const bundled = new Set(
    Object.keys(metafile.inputs).flatMap((input) => /^node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input) ?? []),
  );
  const licenses = [...bundled].sort().map((name) => `${name.slice("node_modules/".length)}\n\n${licenseOf(name)}`);
  writeFileSync(join(folder, "LICENSES.txt"), licenses.join("\n\n---\n\n"));
}

function licenseOf(folder: string): string {
  for (const name of ["LICENSE", "license"]) {
    try {
      return readFileSync(join(ROOT, folder, name), "utf8").trim();
    } catch {
      // Another spelling.
    }
  }
  throw new Error(`${folder} has no license`);
}
