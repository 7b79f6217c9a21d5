/** Bundles `npx headgate` into one file of plain JavaScript. */

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync, type Metafile } from "esbuild";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** The parser of commands is CommonJS, and asks for Node's own modules by `require`. */
const BANNER = `#!/usr/bin/env node
import { createRequire } from "node:module"; const require = createRequire(import.meta.url);`;

/**
 * Dependencies of the package stay imports. What is bundled is only needed here: the parser of commands, those of
 * wrangler's files, and the parts of Hono that render pages, because Hono is not installed with the package.
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
    banner: { js: BANNER },
    legalComments: "none",
    // Without comments. Names and lines stay, for stack traces.
    minifyWhitespace: true,
    lineLimit: 120,
    external: Object.keys(dependencies),
    metafile: true,
  });
  writeLicenses(folder, metafile);
}

/** Writes the licenses of the packages in a bundle beside it. */
export function writeLicenses(folder: string, { inputs }: Metafile): void {
  const bundled = new Set(
    Object.keys(inputs).flatMap((input) => /^node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input) ?? []),
  );
  const licenses = [...bundled].sort().map((name) => `${name.slice("node_modules/".length)}\n\n${licenseOf(name)}`);
  writeFileSync(join(folder, "LICENSES.txt"), licenses.join("\n\n---\n\n"));
}

function licenseOf(folder: string): string {
  const name = readdirSync(join(ROOT, folder)).find((one) => /^license\b/i.test(one));
  if (name === undefined) throw new Error(`${folder} has no license`);
  return readFileSync(join(ROOT, folder, name), "utf8").trim();
}
