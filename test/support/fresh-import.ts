// A module that knows nothing of earlier tests: loaded anew, with all of src/ that it imports.

import { registerHooks } from "node:module";

const FRESH = /\?fresh=\d+$/;
const SRC = new URL("../../src/", import.meta.url).href;
let loads = 0;

// Node keeps a module by its URL with the query. What a fresh module imports gets the same query.
registerHooks({
  resolve(specifier, context, nextResolve) {
    const resolved = nextResolve(specifier, context);
    const query = FRESH.exec(context.parentURL ?? "")?.[0];
    return query && resolved.url.startsWith(SRC) ? { ...resolved, url: resolved.url + query } : resolved;
  },
});

/** @param path from src/. */
export async function freshImport<Module>(path: string): Promise<Module> {
  return (await import(`${SRC}${path}?fresh=${loads++}`)) as Module;
}
