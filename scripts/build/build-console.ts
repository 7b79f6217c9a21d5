/**
 * `npm run build:console`: builds console/ into console/dist: a page, one script and one style. The result is
 * committed, because a gateway is deployed from the repository or the package without a build.
 *
 * With `--check` nothing is written: it fails if console/dist is not what the sources give, or is too large.
 */

import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync, type Metafile } from "esbuild";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const CONSOLE = join(ROOT, "console");
const DIST = join(CONSOLE, "dist");

/** Script and style together, as they are sent uncompressed. A slow phone has to parse them all. */
const BUDGET_KIB = 120;

/** The files of console/dist by name. */
function generate(): Map<string, string> {
  const { outputFiles, metafile } = buildSync({
    absWorkingDir: CONSOLE,
    entryPoints: [
      { in: "src/main.tsx", out: "console" },
      { in: "src/style/console.css", out: "console" },
    ],
    outdir: "dist",
    tsconfig: "tsconfig.json",
    bundle: true,
    minify: true,
    format: "iife",
    target: ["chrome111", "firefox121", "safari17"],
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "none",
    metafile: true,
    write: false,
  });
  const files = new Map(outputFiles.map(({ path, text }) => [path.slice(DIST.length + 1), text]));
  // A browser that kept an older script or style asks for the one that belongs to this page.
  const version = createHash("sha256")
    .update([...files.values()].join())
    .digest("hex")
    .slice(0, 12);
  files.set("index.html", readFileSync(join(CONSOLE, "index.html"), "utf8").replaceAll("%VERSION%", version));
  files.set("icon.svg", readFileSync(join(CONSOLE, "icon.svg"), "utf8"));
  files.set("LICENSES.txt", bundled(metafile).map(license).join("\n\n---\n\n"));
  return files;
}

/** The packages whose code is in the script. Their licenses must be shipped with it. */
function bundled({ outputs }: Metafile): string[] {
  const inputs = Object.values(outputs).flatMap((output) => Object.entries(output.inputs));
  const paths = inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([path]) => path);
  const names = paths.flatMap((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []);
  return [...new Set(names)].sort();
}

function license(name: string): string {
  return `${name}\n\n${readFileSync(join(ROOT, "node_modules", name, "LICENSE"), "utf8").trim()}\n`;
}

function check(files: ReadonlyMap<string, string>): string[] {
  const committed = new Set(readdirSync(DIST));
  const names = new Set([...files.keys(), ...committed]);
  return [...names].filter(
    (name) => !committed.has(name) || readFileSync(join(DIST, name), "utf8") !== files.get(name),
  );
}

const files = generate();
const bytes = ["console.js", "console.css"].reduce((sum, name) => sum + Buffer.byteLength(files.get(name)!), 0);
console.log(`console: ${(bytes / 1024).toFixed(1)} KiB of script and style (budget ${BUDGET_KIB} KiB)`);
if (bytes > BUDGET_KIB * 1024) process.exitCode = 1;

if (process.argv.includes("--check")) {
  const other = check(files);
  if (other.length > 0) {
    console.error(`console/dist is not what console/ says (${other.join(", ")}): run \`npm run build:console\`.`);
    process.exitCode = 1;
  }
} else {
  rmSync(DIST, { recursive: true, force: true });
  mkdirSync(DIST);
  for (const [name, text] of files) writeFileSync(join(DIST, name), text);
}
