// The package as npm would install it: built, packed, and unpacked into a temporary folder, beside the examples. Its
// dependencies are links to this repository's, so that no registry is asked.

import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build as esbuild } from "esbuild";
import { build, pack } from "../../../scripts/build/build.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

export const EXAMPLES = [
  "fetch-handler",
  "hono-middleware",
  "service-binding",
  "gateway",
  "openai-proxy",
  "monthly-quota",
  "team-budget",
] as const;
export type Example = (typeof EXAMPLES)[number];

export interface Packed {
  /** The folder, with `examples/` and `node_modules/`. */
  readonly directory: string;
  /** Bundles an example as a Worker. */
  bundle(example: Example): Promise<string>;
  /** Bundles a Worker from a file, named from the folder. */
  bundleFile(path: string): Promise<string>;
  /** Bundles a Worker from its source text. */
  bundleText(source: string): Promise<string>;
  /** Checks the types of all examples under `strict`. @returns what the compiler complained about. */
  check(): string;
  /** The types of a folder with tests or programs for Node. @returns what the compiler complained about. */
  checkOnNode(folder: string): string;
  /** Runs the tests of a folder with vitest. */
  runTests(folder: string): TestReport;
  remove(): void;
}

/** @returns what the compiler complained about. */
function compile(folder: string): string {
  const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
  const { stdout } = spawnSync(process.execPath, [tsc, "-p", folder], { encoding: "utf8" });
  return stdout;
}

/** As vitest writes it. */
export interface TestReport {
  readonly success: boolean;
  readonly numPassedTests: number;
  readonly numPendingTests: number;
  /** What vitest printed, if a test failed. */
  readonly failures: string;
}

export function packAndInstall(): Packed {
  const directory = mkdtempSync(join(tmpdir(), "headgate-packed-"));
  build();
  const modules = join(directory, "node_modules");
  mkdirSync(join(modules, "headgate"), { recursive: true });
  execFileSync("tar", ["-xzf", pack(directory), "--strip-components=1", "-C", join(modules, "headgate")]);
  const { dependencies, peerDependencies } = JSON.parse(
    readFileSync(join(modules, "headgate/package.json"), "utf8"),
  ) as Record<"dependencies" | "peerDependencies", Record<string, string>>;
  for (const name of [
    ...Object.keys({ ...dependencies, ...peerDependencies }),
    "@cloudflare/workers-types",
    "@hono/node-server",
    "@modelcontextprotocol/sdk",
    "@trpc/server",
    "@types/express",
    "@types/node",
    "@types/ws",
    "express",
    "graphql",
    "ws",
    "zod",
  ]) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(ROOT, "node_modules", name), join(modules, name));
  }
  cpSync(join(ROOT, "examples"), join(directory, "examples"), {
    recursive: true,
    filter: (path) => !/\/examples\/.*\/(?:node_modules|\.wrangler)(?:\/|$)/.test(path),
  });

  async function bundle(input: { entryPoints: [string] } | { stdin: { contents: string; resolveDir: string } }) {
    const { outputFiles } = await esbuild({
      ...input,
      bundle: true,
      format: "esm",
      target: "es2024",
      conditions: ["workerd", "worker", "browser"],
      // The runtime provides only this import. A Node built-in would fail the build.
      external: ["cloudflare:workers"],
      write: false,
    });
    return outputFiles[0]!.text;
  }

  return {
    directory,
    bundle: (example) => bundle({ entryPoints: [join(directory, "examples", example, "src/index.ts")] }),
    bundleFile: (path) => bundle({ entryPoints: [join(directory, path)] }),
    bundleText: (contents) => bundle({ stdin: { contents, resolveDir: directory } }),
    check() {
      const { compilerOptions } = JSON.parse(
        readFileSync(join(directory, "examples/fetch-handler/tsconfig.json"), "utf8"),
      ) as { compilerOptions: object };
      const config = { compilerOptions, include: EXAMPLES.map((name) => `examples/${name}/src`) };
      writeFileSync(join(directory, "tsconfig.json"), JSON.stringify(config));
      return compile(directory);
    },
    checkOnNode(folder) {
      const compilerOptions = {
        ...{ target: "es2024", module: "preserve", strict: true, noEmit: true, allowImportingTsExtensions: true },
        // Types of vitest name packages that are installed beside it, not here.
        ...{ types: ["node"], skipLibCheck: true },
      };
      writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["."] }));
      return compile(folder);
    },
    runTests(folder) {
      const vitest = join(modules, "vitest/vitest.mjs");
      const out = join(folder, "report.json");
      const args = [vitest, "run", "--root", folder, "--reporter=json", "--outputFile", out];
      // Without the variables by which this vitest tells its processes that they are tests.
      const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
      const { stderr } = spawnSync(process.execPath, args, {
        encoding: "utf8",
        cwd: folder,
        env: { PATH, HOME, NODE_COMPILE_CACHE },
      });
      return { ...JSON.parse(readFileSync(out, "utf8")), failures: stderr } as TestReport;
    },
    remove: () => rmSync(directory, { recursive: true }),
  };
}
