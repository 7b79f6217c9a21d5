/**
 * One bundled Worker in plain workerd. There is no Miniflare between the client and the Worker, and the CPU time of the
 * process can be read.
 */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type BuildOptions, build } from "esbuild";
import { parse } from "smol-toml";
import { freePort } from "../../scripts/machine/redis-server.ts";
import { isRunning, spawnTied, stopProcess } from "../../scripts/machine/tied-process.ts";

const ROOT = new URL("../../", import.meta.url);
const START_TIMEOUT_MS = 15_000;
/** Linux has this value on every architecture that Node runs on. */
const TICKS_PER_SECOND = 100;

export interface Workerd {
  readonly port: number;
  /** The time from the start of the process to the end of its first answer, in ms. */
  readonly firstAnswerMs: number;
  /** The CPU time of the process so far, in ms. undefined where there is no /proc. */
  cpuMs(): number | undefined;
  stop(): Promise<void>;
}

const wranglerToml = () => parse(readFileSync(new URL("wrangler.toml", ROOT), "utf8"));

/** Bundles a Worker of bench/workers, minified as for `wrangler deploy`. Peers come from bench/node_modules. */
export async function bundleWorker(name: string): Promise<string> {
  const options: BuildOptions & { write: false } = {
    entryPoints: [fileURLToPath(new URL(`bench/workers/${name}`, ROOT))],
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    external: ["node:*"],
    write: false,
  };
  return (await build(options)).outputFiles[0]!.text;
}

export async function startWorkerd(code: string, bindings: Readonly<Record<string, unknown>>): Promise<Workerd> {
  const directory = mkdtempSync(join(tmpdir(), "headgate-bench-"));
  const port = await freePort();
  writeFileSync(join(directory, "worker.js"), code);
  writeFileSync(join(directory, "config.capnp"), config(port, bindings));
  const program = fileURLToPath(new URL("node_modules/workerd/bin/workerd", ROOT));
  const startedAt = performance.now();
  const child = spawnTied(program, ["serve", "config.capnp"], { cwd: directory, stdio: ["ignore", "ignore", "pipe"] });
  let errors = "";
  child.stderr?.on("data", (chunk) => {
    errors = (errors + chunk).slice(-2_000);
  });
  const stop = async () => {
    await stopProcess(child);
    rmSync(directory, { recursive: true, force: true });
  };
  while (isRunning(child) && performance.now() < startedAt + START_TIMEOUT_MS) {
    const answer = await fetch(`http://127.0.0.1:${port}/start`, {
      headers: { "CF-Connecting-IP": "192.0.2.1" },
    }).catch(() => undefined);
    if (answer) {
      await answer.text();
      const firstAnswerMs = performance.now() - startedAt;
      return { port, firstAnswerMs, stop, cpuMs: () => cpuMs(child.pid!) };
    }
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  await stop();
  throw new Error(`expected workerd to answer, found: ${errors || "nothing"}`);
}

/** @see workerd.capnp in the package `workerd` */
function config(port: number, bindings: Readonly<Record<string, unknown>>): string {
  const toml = wranglerToml();
  const list = Object.entries(bindings).map(([name, value]) => {
    const text = JSON.stringify(value);
    return typeof value === "string"
      ? `(name = "${name}", text = ${text})`
      : `(name = "${name}", json = ${JSON.stringify(text)})`;
  });
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .main),
    (name = "internet", network = (allow = ["public", "private"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
const main :Workerd.Worker = (
  modules = [(name = "worker.js", esModule = embed "worker.js")],
  compatibilityDate = "${toml.compatibility_date}",
  compatibilityFlags = [${(toml.compatibility_flags as string[]).map((flag) => `"${flag}"`).join(", ")}],
  bindings = [${list.join(", ")}],
);
`;
}

function cpuMs(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS_PER_SECOND;
  } catch {
    return undefined;
  }
}
