// What a program sees that has the package and its dependencies, but neither vitest nor the types of Workers.

import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { compile } from "../../scripts/build/build.ts";

// The compiler runs twice, on a busy machine.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "headgate-packed-"));
  const installed = join(folder, "node_modules/headgate");
  compile(join(installed, "dist"));
  for (const file of ["package.json", "test/vectors"]) {
    cpSync(join(ROOT, file), join(installed, file), { recursive: true });
  }
  for (const name of [...Object.keys(packageJson.dependencies), "hono"]) {
    const link = join(folder, "node_modules", name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(ROOT, "node_modules", name), link, "dir");
  }
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
});

afterAll(() => rmSync(folder, { recursive: true }));

const run = (...args: string[]) => spawnSync(process.execPath, args, { cwd: folder, encoding: "utf8" });

const PROGRAM = `
  import { createLimiter, memoryStore, withRateLimit } from "headgate";
  import { fetchWithBackoff } from "headgate/client";
  import { rateLimit } from "headgate/hono";
  import { meterResponse } from "headgate/llm";
  import { describeStore, fakeClock, storeAt } from "headgate/testing";

  export const limiter = createLimiter({
    policies: [{ name: "a", limits: [{ limit: 1, window: "1m" }] }],
    store: storeAt(memoryStore(), fakeClock()),
  });
  const { fetch } = withRateLimit((request, env: { text: string }, ctx) => {
    ctx.waitUntil(Promise.resolve());
    return new Response(request.url + env.text);
  }, limiter);
  export const answer: Response | Promise<Response> = fetch(new Request("https://a.example/"), { text: "" }, {
    waitUntil() {},
  });
  withRateLimit({ fetch: (request) => new Response(request.url) }, limiter);
  // @ts-expect-error a handler is a function, or has one: without types of its own it would be \`any\`
  withRateLimit(5, limiter);
  export { describeStore, fetchWithBackoff, meterResponse, rateLimit };
`;

// The types of the dependencies are those that this project has installed: what they lack is not headgate's mistake.
it.each([
  ["of a browser or Deno", { lib: ["es2022", "dom", "dom.iterable"], types: [] }],
  ["of Node alone", { lib: ["es2022"], types: [join(ROOT, "node_modules/@types/node")] }],
  ["of Workers", { lib: ["es2022"], types: [join(ROOT, "node_modules/@cloudflare/workers-types")] }],
])("the declarations have no errors beside the types %s, also if libraries are checked", (what, more) => {
  const text =
    what === "of Workers" ? PROGRAM.replace("{\n    waitUntil() {},\n  }", "{} as ExecutionContext") : PROGRAM;
  writeFileSync(join(folder, "program.ts"), text);
  const compilerOptions = { target: "es2022", module: "nodenext", strict: true, skipLibCheck: false, noEmit: true };
  const files = ["program.ts"];
  writeFileSync(
    join(folder, "tsconfig.json"),
    JSON.stringify({ compilerOptions: { ...compilerOptions, ...more }, files }),
  );
  const { stdout } = run(join(ROOT, "node_modules/typescript/bin/tsc"), "-p", folder);
  expect(stdout).toBe("");
});

it("the clock works without vitest, and the suite says what it needs", () => {
  writeFileSync(
    join(folder, "clock.js"),
    `import { describeStore, fakeClock } from "headgate/testing";
     const clock = fakeClock(1);
     clock.advance(41);
     let message;
     try { describeStore({}); } catch (error) { message = error.message; }
     console.log(JSON.stringify([clock.nowMs(), message]));`,
  );
  const { stdout, stderr } = run("clock.js");
  expect(stderr).toBe("");
  expect(JSON.parse(stdout)).toEqual([42, "describeStore: expected vitest 3, 4 or 5 to be installed"]);
});
