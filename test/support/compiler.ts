// What the compiler says about programs, with the sources in the place of the package.

import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { ENTRIES, ROOT } from "./programs.ts";

const PLATFORMS = {
  node: { lib: ["es2024", "dom", "dom.iterable"], types: ["node"] },
  workers: { lib: ["es2024"], types: ["@cloudflare/workers-types"] },
};

/**
 * Compiles all programs at once, under `strict`.
 *
 * @param programs by the names of their files.
 * @returns the messages about each program that has some. Each begins with the word in the program that it is about.
 */
export async function messagesAbout(
  programs: Readonly<Record<string, string>>,
  platform: keyof typeof PLATFORMS,
): Promise<Record<string, string[]>> {
  const folder = mkdtempSync(join(tmpdir(), "headgate-types-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  for (const [file, text] of Object.entries(programs)) writeFileSync(join(folder, file), text);
  const paths = Object.fromEntries(Object.entries(ENTRIES).map(([entry, file]) => [entry, [file]]));
  const compilerOptions = {
    ...{ ...PLATFORMS[platform], target: "es2024", module: "preserve", strict: true, skipLibCheck: true },
    ...{ noEmit: true, declaration: true, allowImportingTsExtensions: true, paths },
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: Object.keys(programs) }));
  const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
  const printed = await new Promise<string>((resolve) => {
    execFile(process.execPath, [tsc, "-p", folder, "--pretty", "false"], { cwd: folder }, (_, stdout) =>
      resolve(stdout),
    );
  });
  const messages: Record<string, string[]> = {};
  for (const [, file = "", line, column, text = ""] of printed.matchAll(
    /^(\S+?)\((\d+),(\d+)\): error (TS\d+: .*(?:\n .*)*)$/gm,
  )) {
    const source = programs[file] ?? readFileSync(join(folder, file), "utf8");
    const [word = ""] = /^[\w"']+/.exec(source.split("\n")[Number(line) - 1]!.slice(Number(column) - 1)) ?? [];
    messages[file] = [...(messages[file] ?? []), `${word}: ${text}`];
  }
  if (printed !== "" && Object.keys(messages).length === 0) throw new Error(printed);
  return messages;
}
