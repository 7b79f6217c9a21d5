/**
 * The packed package in programs of CommonJS: in Jest, in ts-jest as TypeScript resolved modules before `exports` and
 * as Node does, and beside its own ES modules in Node and Bun, where both must be one.
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildSync } from "esbuild";
import { BUN } from "./test-elsewhere.ts";
import { run } from "./test-init.ts";
import { PACKAGE } from "./test-types.ts";

/** TypeScript 7 knows no `node10`. */
const JEST = ["jest@30.5.2", "ts-jest@29.4.15", "typescript@5.9.3", "@types/jest@30.0.0"];
const BESIDE = ["express", "@types/express", "@types/node"].map((name) => `${name}@${PACKAGE.devDependencies[name]}`);

const TEST = `
import express from "express";
import { ConfigurationError, createLimiter, memoryStore } from "headgate";
import { fetchWithBackoff } from "headgate/client";
import { rateLimit } from "headgate/express";
import { fakeClock, storeAt } from "headgate/testing";

const clock = fakeClock();
const limiter = createLimiter({
  policies: [{ name: "site", key: "ip", limits: [{ algorithm: "sliding-log", limit: 1, window: "1m" }] }],
  store: storeAt(memoryStore(), clock),
});

it("refuses the second request, and admits the next after a minute", async () => {
  const app = express();
  app.use(rateLimit(limiter, { clientIp: "socket" }));
  app.get("/", (req, res) => void res.json(req.rateLimit?.allowed));
  const server = app.listen(0);
  try {
    const { port } = server.address() as { port: number };
    const ask = async () => (await fetch(\`http://127.0.0.1:\${port}/\`)).status;
    expect([await ask(), await ask()]).toEqual([200, 429]);
    clock.advance(60_000);
    const later = await fetchWithBackoff(\`http://127.0.0.1:\${port}/\`);
    expect(await later.json()).toBe(true);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

it("says what is wrong by an error of its own class", () => {
  expect(() => createLimiter({ policies: [], store: memoryStore(), keySecret: "" })).toThrow(TypeError);
  expect(() => createLimiter({ policies: [], store: memoryStore() })).toThrow(ConfigurationError);
});
`;

/** `require` and `import` of one program. It throws unless they give the same. */
const MIXED = `
const { deepStrictEqual, ok, strictEqual } = require("node:assert");
const { createLimiter, memoryStore } = require("headgate");
const { forgetIsolates } = require("headgate/testing");
const names = ["headgate", "headgate/express", "headgate/client"];
(async () => {
  for (const name of names) deepStrictEqual({ ...require(name) }, { ...(await import(name)) });
  strictEqual((await import("headgate/testing")).forgetIsolates, forgetIsolates);
  ok((await import("headgate/testing")).describeStore);
})();
`;

/** Bundlers read the ES modules for both. */
const BUNDLED = `
const { createLimiter } = require("headgate");
const { rateLimit } = require("headgate/express");
(async () => {
  require("node:assert").strictEqual((await import("headgate")).createLimiter, createLimiter);
  require("node:assert").strictEqual((await import("headgate/express")).rateLimit, rateLimit);
})();
`;

/** In Node that cannot require ES modules there are two: a limiter of one is accepted by the other. */
const APART = `
const { notStrictEqual, ok, strictEqual, throws } = require("node:assert");
(async () => {
  const [one, other] = [require("headgate"), await import("headgate")];
  notStrictEqual(one.createLimiter, other.createLimiter);
  const policies = [{ name: "a", key: "ip", limits: [{ limit: 1, window: "1m" }] }];
  const pairs = [[one, await import("headgate/express")], [other, require("headgate/express")]];
  for (const [{ createLimiter, memoryStore }, { rateLimit }] of pairs) {
    const limit = rateLimit(createLimiter({ policies, store: memoryStore() }), { clientIp: "socket" });
    const server = require("node:http").createServer((req, res) => limit(req, res, () => res.end()));
    await new Promise((resolve) => server.listen(0, resolve));
    const ask = async () => (await fetch("http://127.0.0.1:" + server.address().port)).status;
    strictEqual([await ask(), await ask()].join(), "200,429");
    server.closeAllConnections();
    server.close();
  }
  throws(() => one.createLimiter({ policies: [], store: other.memoryStore() }), { name: "ConfigurationError" });
})();
`;

/** @param directory an existing folder. @throws with what a test or a program prints. */
export function testCommonJs(tarball: string, directory: string): void {
  const folder = join(directory, "commonjs");
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true }));
  run(folder, "npm", "install", "--no-audit", "--no-fund", tarball, ...JEST, ...BESIDE, BUN);

  writeFileSync(join(folder, "limits.test.ts"), TEST);
  const required = TEST.replace(/^import (.+) from (".+");$/gm, "const $1 = require($2);");
  writeFileSync(join(folder, "limits.test.js"), required.replace(" as { port: number }", ""));
  run(folder, "node_modules/.bin/jest", "limits.test.js");
  console.log("commonjs: Jest");
  for (const [module, moduleResolution] of [
    ["commonjs", "node10"],
    ["node16", "node16"],
    ["nodenext", "nodenext"],
  ]) {
    const compilerOptions = { target: "es2022", module, moduleResolution, strict: true, esModuleInterop: true };
    const config = { compilerOptions: { ...compilerOptions, lib: ["es2022"], types: ["node", "jest"] } };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ ...config, files: ["limits.test.ts"] }));
    writeFileSync(join(folder, "jest.config.js"), 'module.exports = { preset: "ts-jest" };');
    // ts-jest looks at one file: the compiler reads the declarations, too.
    run(folder, "node_modules/.bin/tsc", "-p", ".", "--noEmit", "--skipLibCheck", "false");
    run(folder, "node_modules/.bin/jest", "--no-cache", "limits.test.ts");
    console.log(`commonjs: ts-jest, moduleResolution ${moduleResolution}`);
  }

  writeFileSync(join(folder, "mixed.cjs"), MIXED);
  writeFileSync(join(folder, "apart.cjs"), APART);
  const bundled = { contents: BUNDLED, resolveDir: folder };
  buildSync({ stdin: bundled, bundle: true, platform: "node", outfile: join(folder, "bundled.cjs") });
  run(folder, process.execPath, "mixed.cjs");
  run(folder, process.execPath, "bundled.cjs");
  run(folder, "node_modules/.bin/bun", "mixed.cjs");
  run(folder, process.execPath, "--no-experimental-require-module", "apart.cjs");
  console.log("commonjs: require beside import");
}
