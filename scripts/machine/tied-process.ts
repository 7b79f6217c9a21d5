// Child processes that do not outlive their parent.

import { type ChildProcess, type SpawnOptions, spawn, spawnSync } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";

/** The full path of the first of `names` that is on PATH. All of PATH is searched for one name before the next name. */
export function findOnPath(...names: string[]): string | undefined {
  for (const name of names) {
    for (const directory of (process.env.PATH ?? "").split(delimiter)) {
      const file = join(directory || ".", name);
      try {
        accessSync(file, constants.X_OK);
        if (statSync(file).isFile()) return file;
      } catch {
        // Not in this directory, or not executable: continue the search.
      }
    }
  }
  return undefined;
}

/**
 * Starts a program that gets SIGTERM when this process dies, whatever the cause.
 *
 * On Linux the kernel sends the signal (`setpriv --pdeathsig`, util-linux 2.33 or later), even if this process gets
 * SIGKILL. On other systems only an ordinary exit of this process ends the child. `child.pid` is the program's own id
 * in both cases, because setpriv execs the program. A missing program is an `error` event, as with `spawn`.
 */
export function spawnTied(program: string, args: string[], options: SpawnOptions): ChildProcess {
  const child = kernelCanTie()
    ? spawn("setpriv", ["--pdeathsig", "TERM", program, ...args], options)
    : spawn(program, args, options);
  const atExit = () => child.kill("SIGTERM");
  process.once("exit", atExit);
  child.once("exit", () => process.off("exit", atExit));
  return child;
}

/**
 * Ends a child: SIGTERM, then SIGKILL after `graceMs` (default 5000). Resolves when the child is gone, at once if it
 * already is. Signals go only to the child's own process id.
 */
export async function stopProcess(child: ChildProcess, graceMs = 5_000): Promise<void> {
  if (!isRunning(child)) return;
  const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), graceMs);
  await gone;
  clearTimeout(timer);
}

/** Whether the child was started and has not ended. */
export function isRunning(child: ChildProcess): boolean {
  return child.pid !== undefined && child.exitCode === null && child.signalCode === null;
}

/**
 * Calls back once, within 200 ms, when the parent of this process is gone: npm was killed, or the shell between npm and
 * this process took the signal for itself. It works only under `npm run`, because a script that was started by hand may
 * go on without its shell.
 */
export function whenOrphaned(callback: () => void): void {
  if (process.env.npm_lifecycle_event === undefined) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    callback();
  }, 200);
  timer.unref();
}

let canTie: boolean | undefined;

/** Tried only once. busybox has a setpriv without `--pdeathsig`, and PATH may have no setpriv. */
function kernelCanTie(): boolean {
  canTie ??=
    process.platform === "linux" && spawnSync("setpriv", ["--pdeathsig", "TERM", process.execPath, "-v"]).status === 0;
  return canTie;
}
