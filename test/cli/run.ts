// Runs `npx headgate` in this process, in a folder of the test's own.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import type { Io } from "../../src/cli/io.ts";
import { run } from "../../src/cli/program.ts";

export interface Ran {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A folder with these files, for the time of the test. */
export function folderWith(files: Readonly<Record<string, string | Uint8Array>> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), "headgate-cli-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  return folder;
}

/** @param cwd a folder. @param env the whole environment. @param more what else a process has. */
export async function headgate(
  cwd: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  more: Partial<Io> = {},
): Promise<Ran> {
  let [stdout, stderr] = ["", ""];
  const status = await run(args, {
    ...more,
    cwd,
    env,
    out: (text) => {
      stdout += text;
    },
    err: (text) => {
      stderr += text;
    },
  });
  return { status, stdout, stderr };
}
