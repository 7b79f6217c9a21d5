/**
 * One bundled Worker in plain workerd. There is no Miniflare between the client and the Worker, and the CPU time of the
 * process can be read.
 */

import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type BuildOptions, build } from "esbuild";
import { startWorkerd as start } from "../../test/support/gateway/workerd.ts";

const ROOT = new URL("../../", import.meta.url);

export interface Workerd {
  readonly port: number;
  /** The time from the start of the process to the end of its first answer, in ms. */
  readonly firstAnswerMs: number;
  /** The CPU time from the first request to its answer, in ms. undefined where there is no /proc. */
  readonly firstAnswerCpuMs: number | undefined;
  /** The CPU time of the process so far, in ms. undefined where there is no /proc. */
  cpuMs(): number | undefined;
  stop(): Promise<void>;
}

/**
 * Bundles a Worker of bench/workers, minified as for `wrangler deploy`. Peers come from bench/node_modules.
 *
 * @param root this repository, or another clone of it whose src/ the Worker gets.
 */
export async function bundleWorker(name: string, root = ROOT): Promise<string> {
  const options: BuildOptions & { write: false } = {
    stdin: {
      contents: readFileSync(new URL(`bench/workers/${name}`, ROOT), "utf8"),
      resolveDir: fileURLToPath(new URL("bench/workers/", root)),
    },
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    external: ["node:*", "cloudflare:*"],
    write: false,
  };
  return (await build(options)).outputFiles[0]!.text;
}

export async function startWorkerd(code: string, bindings: Readonly<Record<string, unknown>>): Promise<Workerd> {
  const startedAt = performance.now();
  const { port, pid, stop } = await start([{ name: "main", code, bindings }]);
  const startedMs = cpuMs(pid);
  const answer = await fetch(`http://127.0.0.1:${port}/start`, { headers: { "CF-Connecting-IP": "192.0.2.1" } });
  await answer.text();
  const firstAnswerMs = performance.now() - startedAt;
  const answeredMs = cpuMs(pid);
  const firstAnswerCpuMs = startedMs === undefined || answeredMs === undefined ? undefined : answeredMs - startedMs;
  return { port, firstAnswerMs, firstAnswerCpuMs, cpuMs: () => cpuMs(pid), stop };
}

/** The CPU time of all threads of a process so far, in ms. undefined where Linux does not tell it. */
export function cpuMs(pid: number): number | undefined {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    const ns = threads.map((id) => Number(readFileSync(`/proc/${pid}/task/${id}/schedstat`, "utf8").split(" ")[0]));
    return ns.reduce((sum, one) => sum + one, 0) / 1e6;
  } catch {
    return undefined;
  }
}
