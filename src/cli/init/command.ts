/** `headgate init`: a Worker with a first policy. On a terminal it asks what the options do not say. */

import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { type Command, Option } from "commander";
import { isTable, parseJson } from "../../kernel/config/bindings.ts";
import { VERSION } from "../../kernel/version.ts";
import { exists, writeText } from "../files.ts";
import { Failure, type Io } from "../io.ts";
import { jsonText, line, quoted } from "../printable.ts";
import { answersOf, ask, type Given, QUESTIONS } from "./questions.ts";
import { boundTo, templateFiles } from "./template.ts";

interface InitOptions extends Given {
  readonly counts?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

export function addInit(program: Command, io: Io): void {
  const command = program
    .command("init")
    .description("create a gateway, or a Worker of another kind, ready for wrangler dev and wrangler deploy")
    .argument("[folder]", "where to create it (default: this folder)");
  for (const [name, { asks, choices }] of Object.entries(QUESTIONS)) {
    const words = choices.map(([word]) => word).join(", ");
    command.option(`--${name} <word>`, `${asks} ${words} (default: ${choices[0]![0]})`);
  }
  const counts = new Option(
    "--counts",
    "the same as --behind framework: a Worker that only holds the counts of an app",
  );
  command
    .addOption(counts.conflicts("behind"))
    .option("-y, --yes", "ask nothing, also on a terminal")
    .option("--json", "print one JSON object: folder, name, headgate (its spec), files")
    .action((folder: string | undefined, options: InitOptions) => init(folder, options, io));
}

async function init(named: string | undefined, options: InitOptions, io: Io): Promise<void> {
  const { behind = options.counts ? "framework" : undefined, key, store, yes, json } = options;
  const given = { behind, key, store };
  const isAsked = io.terminal && !yes && !json && behind !== "framework";
  const answers = isAsked ? await ask(given, io.terminal, io) : answersOf(given);
  const isCounts = answers.behind === "framework";
  // Beside the app, whose own files are in this folder.
  const folder = named ?? (isCounts ? `${workerName(basename(io.cwd))}-counts` : ".");
  const target = resolve(io.cwd, folder);
  const name = workerName(basename(target));
  const spec = installedSpec(packageFolder(), "headgate", VERSION);
  const files = templateFiles(name, spec, answers);
  // Wrangler reads its JSON files before wrangler.toml.
  const names = Object.keys(files);
  const taken = [...names, "wrangler.json", "wrangler.jsonc"].filter((file) => exists(join(target, file)));
  if (taken.length > 0) throw new Failure(`nothing was written: ${folder} has ${taken.join(", ")} already`);
  for (const [file, text] of Object.entries(files)) writeText(join(target, file), text, join(folder, file), "wx");
  if (json) {
    io.out(jsonText({ folder: target, name, headgate: spec, files: names }));
    return;
  }
  const start = isCounts ? "npm run deploy" : "npx wrangler dev";
  const commands = [...(target === io.cwd ? [] : [`cd ${quoted(folder)}`]), "npm install", start];
  io.out(`Created ${name}: ${names.join(", ")}\n\nNext:\n${commands.map((one) => line(`  ${one}`)).join("")}`);
  if (!isCounts) return;
  const { toml, json: inJson } = boundTo(name);
  io.out(`\nThe app's own wrangler.toml:\n\n${toml}\nor wrangler.jsonc:\n\n${inJson}`);
}

/** A name that Cloudflare and npm both take. */
function workerName(folder: string): string {
  const words = folder.toLowerCase().replace(/[^a-z0-9]+/g, "-");
  const name = words.slice(0, 50).replace(/^-+|-+$/g, "");
  // A package must not depend on its own name.
  return ["", "headgate", "hono", "wrangler"].includes(name) ? "my-gateway" : name;
}

/** The nearest folder above this file with a package.json: the same for the source and for what is published. */
function packageFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, "package.json"))) folder = dirname(folder);
  return folder;
}

/**
 * The spec that this copy of the package was installed by, for another folder's package.json.
 *
 * npm does not tell a program the spec or the tarball that it was installed by, but notes both in a file beside the
 * program. npx does the same in its cache. npm may leave out the address of a package from the registry. Other
 * installers leave no note: the registry is assumed.
 *
 * @param packageFolder the folder with this package's package.json.
 */
export function installedSpec(packageFolder: string, name: string, version: string): string {
  const modules = dirname(packageFolder);
  // A clone, or a link to one.
  if (!modules.endsWith(`${sep}node_modules`)) return fileSpec(packageFolder);
  const resolved = resolvedIn(join(modules, ".package-lock.json"), name);
  if (resolved === undefined || resolved.endsWith(`/${name}/-/${name}-${version}.tgz`)) return `^${version}`;
  return resolved.startsWith("file:") ? fileSpec(resolve(dirname(modules), resolved.slice("file:".length))) : resolved;
}

/** Where npm says that the package came from. */
function resolvedIn(lockFile: string, name: string): string | undefined {
  const lock = existsSync(lockFile) ? parseJson(readFileSync(lockFile, "utf8")) : undefined;
  const packages = isTable(lock) && isTable(lock.packages) ? lock.packages : {};
  const found = packages[`node_modules/${name}`];
  return isTable(found) && typeof found.resolved === "string" ? found.resolved : undefined;
}

function fileSpec(path: string): string {
  return `file:${path.replaceAll(sep, "/")}`;
}
