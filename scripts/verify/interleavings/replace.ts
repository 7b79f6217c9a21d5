/**
 * Replaces source text while modules load, before src/kernel/place is imported: lease sizes become choices, and a fault
 * can be planted. The program itself knows nothing of it.
 */

import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";

export interface Fault {
  readonly name: string;
  /** In src/. */
  readonly file: string;
  readonly was: string;
  readonly is: string;
}

export function replaceSources(fault?: Fault): void {
  const choices = new URL("lease-choices.ts", import.meta.url).href;
  registerHooks({
    resolve(specifier, context, next) {
      return specifier.endsWith("/lease-size.ts") ? next(choices, context) : next(specifier, context);
    },
    load(url, context, next) {
      if (!fault || !url.endsWith(`/src/${fault.file}`)) return next(url, context);
      const source = readFileSync(fileURLToPath(url), "utf8");
      if (source.split(fault.was).length !== 2) {
        throw new Error(`${fault.name}: expected once in src/${fault.file}: ${fault.was}`);
      }
      return { format: "module-typescript", source: source.replace(fault.was, () => fault.is), shortCircuit: true };
    },
  });
}
