// The limits page outside of the Worker: Node cannot import .tsx; esbuild bundles the page first, with Hono's own JSX
// runtime.

import { fileURLToPath } from "node:url";
import { build } from "esbuild";

export type LimitsPage = typeof import("../../src/http/limits/page.tsx");

/** @param alias modules to be replaced by others, as [alias] of wrangler.toml does. */
export async function loadLimitsPage(alias: Record<string, string> = {}): Promise<LimitsPage> {
  const { outputFiles } = await build({
    absWorkingDir: fileURLToPath(new URL("../..", import.meta.url)),
    entryPoints: ["src/http/limits/page.tsx"],
    bundle: true,
    format: "esm",
    write: false,
    alias,
  });
  return await import(`data:text/javascript;base64,${Buffer.from(outputFiles[0]!.contents).toString("base64")}`);
}
