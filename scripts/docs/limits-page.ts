// Loads the limits page outside of the Worker. Node cannot import .tsx files, so esbuild compiles the page first.

import { fileURLToPath } from "node:url";
import { build } from "esbuild";

export type LimitsPage = typeof import("../../src/http/limits/page.tsx");

export async function loadLimitsPage(): Promise<LimitsPage> {
  const { outputFiles } = await build({
    absWorkingDir: fileURLToPath(new URL("../..", import.meta.url)),
    entryPoints: ["src/http/limits/page.tsx"],
    bundle: true,
    format: "esm",
    write: false,
  });
  return await import(`data:text/javascript;base64,${Buffer.from(outputFiles[0]!.contents).toString("base64")}`);
}
