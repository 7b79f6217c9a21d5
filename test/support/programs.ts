// Programs of the documents, with the sources in the place of the package.

import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type BuildOptions, build } from "esbuild";
import { onTestFinished } from "vitest";
import { freePort } from "../../scripts/machine/redis-server.ts";
import { isRunning, spawnTied, stopProcess } from "../../scripts/machine/tied-process.ts";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const { exports } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
  readonly exports: Readonly<Record<string, { readonly default: string }>>;
};
/** The entries of the package, as their sources. */
export const ENTRIES = Object.fromEntries(
  Object.entries(exports).map(([entry, file]) => [
    entry.replace(".", "headgate"),
    join(ROOT, file.default.replace("./dist/", "src/").replace(/\.js$/, ".ts")),
  ]),
);

/** For Node. Packages in CommonJS ask for Node's own by `require`. */
export const ON_NODE: BuildOptions = {
  platform: "node",
  banner: { js: `import { createRequire } from "node:module"; const require = createRequire(import.meta.url);` },
};

/** A program in one module. */
export async function bundled(contents: string, { alias, ...options }: BuildOptions = {}): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents, loader: "ts", resolveDir: ROOT },
    alias: { ...ENTRIES, ...alias },
    bundle: true,
    format: "esm",
    target: "es2024",
    write: false,
    ...options,
  });
  return outputFiles![0]!.text;
}

/** Starts a program that prints one line when it listens on `PORT`. @returns where, without the scheme. */
export async function serverOf(file: string, env: NodeJS.ProcessEnv): Promise<string> {
  const port = await freePort();
  const child = spawnTied(process.execPath, [file], {
    env: { ...env, PORT: String(port) },
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => stopProcess(child));
  await Promise.race([once(child.stdout!, "data"), once(child, "exit")]);
  if (!isRunning(child)) throw new Error("expected the program to serve; it has ended");
  return `127.0.0.1:${port}`;
}
