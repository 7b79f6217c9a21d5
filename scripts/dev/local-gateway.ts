/** The bundled Worker in workerd on this machine: one isolate, with the bindings that a script gives. */

import { readFileSync } from "node:fs";
import { build } from "esbuild";
import { convertV4MiniflareOptions, Miniflare, type V4MiniflareOptions } from "miniflare";
import { parse } from "smol-toml";

export interface LocalGateway {
  readonly url: URL;
  stop(): Promise<void>;
}

/** Also reports a rejected promise that nobody awaited, which the Worker alone would lose. */
const ENTRY = `
import worker from "./src/worker.ts";
addEventListener("unhandledrejection", ({ reason }) => console.error("uncaught exception; source = unhandled; " + reason));
export default worker;`;

/**
 * Resolves when the gateway answers.
 *
 * @param onLog gets its log lines and the runtime's lines about uncaught exceptions, which begin with "uncaught
 * exception". Absent: these lines are dropped.
 */
export async function startLocalGateway(
  bindings: Readonly<Record<string, unknown>>,
  onLog?: (line: string) => void,
): Promise<LocalGateway> {
  const bundled = await build({
    stdin: { contents: ENTRY, resolveDir: new URL("../..", import.meta.url).pathname },
    bundle: true,
    format: "esm",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:*"],
    write: false,
  });
  const toml = parse(readFileSync(new URL("../../wrangler.toml", import.meta.url), "utf8"));
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      modules: [{ type: "ESModule", path: "worker.js", contents: bundled.outputFiles[0]!.text }],
      compatibilityDate: toml.compatibility_date as string,
      compatibilityFlags: toml.compatibility_flags as string[],
      cf: false,
      verbose: onLog !== undefined,
      handleStructuredLogs: ({ message }: { message: string }) => onLog?.(message),
      bindings,
    } as V4MiniflareOptions),
  );
  return { url: await miniflare.ready, stop: () => miniflare.dispose() };
}
