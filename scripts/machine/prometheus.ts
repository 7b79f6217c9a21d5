// Finds the Prometheus of the tests of metrics, and runs it.

import { freePort } from "./redis-server.ts";
import { findOnPath, isRunning, spawnTied, stopProcess } from "./tied-process.ts";

/** What to tell a person without Prometheus. */
export const HOW_TO_GET_PROMETHEUS =
  "no prometheus and promtool on PATH: install them with `apt-get install prometheus` (Debian, as root)";

/** How long the server may take until it is ready, in ms. On an idle machine it needs about a second. */
const START_TIMEOUT_MS = 30_000;

export interface Prometheus {
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  stop(): Promise<void>;
}

/** The full paths of the server and its tool. Undefined if one of them is not on PATH. */
export function findPrometheus(): { readonly server: string; readonly tool: string } | undefined {
  const [server, tool] = [findOnPath("prometheus"), findOnPath("promtool")];
  return server !== undefined && tool !== undefined ? { server, tool } : undefined;
}

/** Starts a server with the `prometheus.yml` of a folder, and resolves when it is ready. Its data go there too. */
export async function startPrometheus(directory: string): Promise<Prometheus> {
  const found = findPrometheus();
  if (!found) throw new Error(HOW_TO_GET_PROMETHEUS);
  const port = await freePort();
  const args = ["--config.file=prometheus.yml", "--storage.tsdb.path=data", `--web.listen-address=127.0.0.1:${port}`];
  const child = spawnTied(found.server, args, { cwd: directory, stdio: ["ignore", "ignore", "pipe"] });
  let output = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-2_000);
  });
  const url = `http://127.0.0.1:${port}`;
  const stop = () => stopProcess(child);
  const deadlineAt = Date.now() + START_TIMEOUT_MS;
  while (isRunning(child) && Date.now() < deadlineAt) {
    const answer = await fetch(`${url}/-/ready`).catch(() => undefined);
    await answer?.body?.cancel();
    if (answer?.ok) return { url, stop };
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await stop();
  throw new Error(`expected prometheus to start; it said: ${output.trim()}`);
}
