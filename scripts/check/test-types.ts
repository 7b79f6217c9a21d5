/**
 * The declarations of every entry, from the packed package in an empty folder: `tsc` under `strict`, libraries checked
 * too, as a bundler resolves modules and as Node does.
 */

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "./test-init.ts";

interface Package {
  readonly name: string;
  readonly exports: Readonly<Record<string, unknown>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

export const PACKAGE = JSON.parse(
  readFileSync(fileURLToPath(new URL("../../package.json", import.meta.url)), "utf8"),
) as Package;

/** They name types of Workers. */
const OF_WORKERS = ["./durable-object", "./worker"];

/** What a program has beside headgate: its platform's types, and what it imports. */
const PROGRAMS: Readonly<
  Record<string, { readonly lib: readonly string[]; readonly types: readonly string[]; readonly body?: string }>
> = {
  // `node:http` and Express are called with what their own types say.
  node: {
    lib: ["es2022"],
    types: ["node"],
    body: `
import { createServer } from "node:http";
import { createSecureServer } from "node:http2";
import express from "express";
import { createLimiter, type Decision, memoryStore } from "headgate";
import { rateLimit } from "headgate/express";
const limiter = createLimiter({ policies: [{ name: "a", limits: [{ limit: 1, window: "1m" }] }], store: memoryStore() });
const limit = rateLimit(limiter, { clientIp: { header: "x-forwarded-for", hops: 1 } });
express().use(limit).use("/v1", rateLimit(limiter, { key: (req: express.Request) => req.get("X-User") }));
express().get("/", (req, res) => void res.json(req.rateLimit?.remaining));
createServer((req, res) => limit(req, res, () => res.end()));
createSecureServer((req, res) => limit(req, res, () => res.end()));
createServer((req, res) => limit(req, res, (() => {}) as (error?: Error) => void)); // Fastify's done
createServer((req) => void (req as { rateLimit?: Decision }).rateLimit?.remaining);
// @ts-expect-error there is no such option
rateLimit(limiter, { clientIP: "socket" });
`,
  },
  // Without Express and without Node.
  browser: { lib: ["es2022", "dom", "dom.iterable"], types: [] },
  workers: { lib: ["es2022"], types: ["@cloudflare/workers-types"] },
};

/** @param directory an existing folder. @throws with what the compiler says. */
export function testTypes(tarball: string, directory: string): void {
  const folder = join(directory, "types");
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module", private: true }));
  const names = ["typescript", "hono", "express", "@types/express", "@types/node", "@cloudflare/workers-types"];
  const packages = names.map((name) => `${name}@${PACKAGE.devDependencies[name]}`);
  run(folder, "npm", "install", "--no-audit", "--no-fund", tarball, ...packages);
  for (const [platform, { lib, types, body = "" }] of Object.entries(PROGRAMS)) {
    const entries = Object.keys(PACKAGE.exports).filter(
      (entry) => platform === "workers" || !OF_WORKERS.includes(entry),
    );
    const imports = entries.map((entry, i) => `export * as entry${i} from "${PACKAGE.name}${entry.slice(1)}";\n`);
    writeFileSync(join(folder, `${platform}.ts`), `${imports.join("")}${body}`);
    for (const module of ["nodenext", "preserve"]) {
      const resolution = module === "nodenext" ? module : "bundler";
      const compilerOptions = { target: "es2022", module, moduleResolution: resolution, lib, types };
      const config = {
        compilerOptions: { ...compilerOptions, strict: true, skipLibCheck: false, noEmit: true },
        files: [`${platform}.ts`],
      };
      writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
      run(folder, "node_modules/.bin/tsc", "-p", ".");
      console.log(`types for ${platform}, ${resolution}: ${entries.length} entries`);
    }
  }
}
