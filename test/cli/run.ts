// Runs `npx headgate` in this process, in a folder of the test's own.

import type { Io } from "../../src/cli/io.ts";
import { run } from "../../src/cli/program.ts";

export { folderWith } from "../support/folder.ts";

export interface Ran {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
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
