/** The Worker, bundled, in workerd on this machine: one isolate, with the bindings that a script gives it. */

import { readFileSync } from "node:fs";
import { build } from "esbuild";
import { convertV4MiniflareOptions, Miniflare, type V4MiniflareOptions } from "miniflare";
import { parse } from "smol-toml";

export interface LocalGateway {
  readonly url: URL;
  stop(): Promise<void>;
}

/** Resolves when the gateway answers. Its log lines go nowhere. */
export async function startLocalGateway(bindings: Readonly<Record<string, unknown>>): Promise<LocalGateway> {
  const bundled = await build({
    entryPoints: [new URL("../src/worker.ts", import.meta.url).pathname],
    bundle: true,
    format: "esm",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    write: false,
  });
  const toml = parse(readFileSync(new URL("../wrangler.toml", import.meta.url), "utf8"));
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      modules: [{ type: "ESModule", path: "worker.js", contents: bundled.outputFiles[0]!.text }],
      compatibilityDate: toml.compatibility_date as string,
      compatibilityFlags: toml.compatibility_flags as string[],
      cf: false,
      handleStructuredLogs() {},
      bindings,
    } as V4MiniflareOptions),
  );
  return { url: await miniflare.ready, stop: () => miniflare.dispose() };
}
