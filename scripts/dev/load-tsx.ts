/** Lets Node load .tsx files: `node --import ./scripts/dev/load-tsx.ts`. Node strips types, but compiles no JSX. */

import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import { transformSync } from "esbuild";

registerHooks({
  load(url, context, nextLoad) {
    if (!url.endsWith(".tsx")) return nextLoad(url, context);
    const { code } = transformSync(readFileSync(fileURLToPath(url), "utf8"), {
      loader: "tsx",
      jsx: "automatic",
      jsxImportSource: "hono/jsx",
    });
    return { format: "module", source: code, shortCircuit: true };
  },
});
