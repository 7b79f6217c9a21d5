// The running processes by id, from /proc, for tests that nothing is left running. Linux only.

import { readdirSync, readFileSync } from "node:fs";

interface ProcessState {
  state: string;
  parent: number;
}

function readState(pid: number): ProcessState | undefined {
  try {
    // The line is "pid (name) state ppid …". The name may hold spaces and parentheses.
    const [state, parent] = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
    return { state: state as string, parent: Number(parent) };
  } catch {
    return undefined;
  }
}

/** Whether the process runs. A zombie does not run: it only waits until its parent, or init, reads its exit status. */
export function isAlive(pid: number): boolean {
  const found = readState(pid);
  return found !== undefined && found.state !== "Z";
}

/** The process ids of all descendants. */
export function descendants(pid: number): number[] {
  const childrenOf = new Map<number, number[]>();
  for (const name of readdirSync("/proc")) {
    const child = Number(name);
    const parent = Number.isInteger(child) ? readState(child)?.parent : undefined;
    if (parent !== undefined) childrenOf.set(parent, [...(childrenOf.get(parent) ?? []), child]);
  }
  const found = [...(childrenOf.get(pid) ?? [])];
  for (const child of found) found.push(...(childrenOf.get(child) ?? []));
  return found;
}

/** The command line of a process, for the message of a failed assertion. */
export function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim();
  } catch {
    return "";
  }
}
