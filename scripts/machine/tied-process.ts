// Child processes that do not outlive the process that started them.

import { type ChildProcess, type SpawnOptions, spawn, spawnSync } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";

/**
 * The full path of the first of `names` found on PATH (all of PATH is searched for one name before the next is tried).
 */
export function findOnPath(...names: string[]): string | undefined {
  for (const name of names) {
    for (const directory of (process.env.PATH ?? "").split(delimiter)) {
      const file = join(directory || ".", name);
      try {
        accessSync(file, constants.X_OK);
        if (statSync(file).isFile()) return file;
      } catch {
        // Not here, or not executable: look further.
      }
    }
  }
  return undefined;
}

/**
 * Starts a program that gets SIGTERM when this process dies, of whatever cause.
 *
 * On Linux the kernel sends it (`setpriv --pdeathsig`, util-linux 2.33 or later), so it also works when this process
 * gets SIGKILL. Elsewhere only an ordinary exit of this process ends the child. `child.pid` is the program's own id in
 * both cases, because setpriv execs it. A missing program is an `error` event, as with `spawn`.
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
 * Ends a child: SIGTERM, then SIGKILL after `graceMs` (default 5000). Resolves when it is gone; also for one that
 * already is. Signals go to the child's own process id only.
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
 * Calls back once, within 200 ms, when the process that started this one is gone: npm was killed, or the shell between
 * npm and us took the signal for itself. Only under `npm run`: who starts a script by hand may leave the shell and keep
 * it.
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

/** Asked once: busybox has a setpriv without `--pdeathsig`, and PATH may have none. */
function kernelCanTie(): boolean {
  canTie ??=
    process.platform === "linux" && spawnSync("setpriv", ["--pdeathsig", "TERM", process.execPath, "-v"]).status === 0;
  return canTie;
}
