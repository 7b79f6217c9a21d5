// Checks from the import lines: entries → operate, adapters, cli → features → kernel, never back.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { brokenRules, importCycles, REPOSITORY_MAY_IMPORT } from "../../scripts/check/architecture.ts";
import { folderWith } from "../support/folder.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const SRC = join(ROOT, "src");

/** The rules that a source tree with these files breaks. */
const brokenIn = (files: Readonly<Record<string, string>>) => brokenRules(folderWith(files));

it("holds in src/", () => {
  expect(brokenRules(SRC)).toEqual([]);
});

describe("the rule", () => {
  it("says which line is wrong, and what would be right", () => {
    expect(brokenIn({ "kernel/core/take.ts": 'import { take } from "../store/store.ts";\n' })).toEqual([
      expect.stringMatching(
        /^kernel\/core\/take\.ts imports kernel\/store\/store\.ts: kernel\/core may import kernel\/b/,
      ),
    ]);
  });

  it.each([
    ["core imports a store", "kernel/core/take.ts", 'import { memoryStore } from "../store/memory.ts";'],
    ["the kernel imports a feature", "kernel/http/enforce.ts", 'import { rpc } from "../../features/rpc/index.ts";'],
    ["a feature imports another", "features/count/count.ts", 'import { rpc } from "../rpc/index.ts";'],
    ["a feature imports what operators see", "features/live/edit.ts", 'import { log } from "../../operate/log.ts";'],
    ["only a type is imported", "kernel/core/take.ts", 'import type { Store } from "../store/store.ts";'],
    ["an import has several lines", "kernel/core/take.ts", 'import {\n  a,\n  b,\n} from "../store/store.ts";'],
    ["it has no names", "kernel/core/take.ts", 'import "../store/store.ts";'],
    ["it is made at run time", "kernel/core/take.ts", 'const later = () => import("../store/store.ts");'],
    ["a type names the file in place", "kernel/core/take.ts", 'type Later = import("../store/store.ts").Store;'],
    ["it is an export", "kernel/core/take.ts", 'export { a } from "../store/store.ts";'],
    ["the library imports what is for tests", "index.ts", 'import { fakeClock } from "./testing/index.ts";'],
    ["a layer has no place", "helpers/one.ts", "export const a = 1;"],
  ])("is broken when %s", (_what, file, text) => {
    expect(brokenIn({ [file]: `${text}\n` })).toHaveLength(1);
  });

  it("lets a layer import itself and those below it", () => {
    const files = {
      "kernel/http/enforce.ts":
        'import { l } from "../limiter/run.ts";\nimport { k } from "./key.ts";\nimport h from "hono";\n',
      "limiter.ts": 'import { s } from "./kernel/store/store.ts";\nimport { p } from "./features/default.ts";\n',
      "features/meter/metered-request.ts":
        'import { s } from "../slots/keep-slots.ts";\nimport { p } from "../../kernel/http/passage.ts";\n',
    };
    expect(brokenIn(files)).toEqual([]);
  });
});

describe("the rule of the whole repository", () => {
  const brokenBy = (file: string, target: string) => {
    const from = `${"../".repeat(file.split("/").length - 1)}${target}`;
    const files = { [file]: `import { one } from "${from}";\n`, [target]: "export const one = 1;\n" };
    return brokenRules(folderWith(files), REPOSITORY_MAY_IMPORT);
  };

  it("holds", () => {
    expect(brokenRules(ROOT, REPOSITORY_MAY_IMPORT)).toEqual([]);
  });

  it("names only layers that stand above the layer, so that no two need each other", () => {
    const layers = Object.keys(REPOSITORY_MAY_IMPORT);
    for (const [i, layer] of layers.entries()) {
      expect(layers.slice(0, i), layer).toEqual(expect.arrayContaining([...REPOSITORY_MAY_IMPORT[layer]!]));
    }
  });

  it.each([
    ["the source imports a script", "src/limiter.ts", "scripts/machine/redis-server.ts"],
    ["what starts a server imports what tests share", "scripts/machine/redis-server.ts", "test/support/mulberry32.ts"],
    ["what tests share imports a test", "test/support/virtual-time.ts", "test/kernel/place/isolates.ts"],
    ["a module of JavaScript imports a test", "bench/workers/none.mjs", "test/worker/support.ts"],
    ["a file lies in no layer", "tools/one.ts", "src/limiter.ts"],
  ])("is broken when %s", (_what, file, target) => {
    expect(brokenBy(file, target)).toHaveLength(1);
  });

  it("lets programs and benchmarks import what tests share, and tests import all of them", () => {
    expect(brokenBy("scripts/simulate/run.ts", "test/support/virtual-time.ts")).toEqual([]);
    expect(brokenBy("bench/isolate-keys.ts", "test/support/virtual-time.ts")).toEqual([]);
    expect(brokenBy("test/simulate/targets.long.test.ts", "scripts/simulate/run.ts")).toEqual([]);
  });

  it("reads no packages, no hidden folder, nothing that is built, and lets everyone read data", () => {
    const wrong = 'import { one } from "../../test/one.ts";\n';
    const files = {
      ...{ "bench/node_modules/one.ts": wrong, "bench/dist/one.ts": wrong, "bench/.one/two.ts": wrong },
      "src/testing/vectors.ts": 'import one from "../../test/vectors/one.json" with { type: "json" };\n',
    };
    expect(brokenRules(folderWith(files), REPOSITORY_MAY_IMPORT)).toEqual([]);
  });
});

describe("files that import each other", () => {
  it("do not exist", () => {
    expect(importCycles(ROOT)).toEqual([]);
  });

  it("are found, also if only types go round", () => {
    const files = {
      "core/a.ts": 'import type { B } from "./b.ts";\n',
      "core/b.ts": 'import { c } from "./c.ts";\n',
      "core/c.ts": 'export type { A } from "./a.ts";\n',
    };
    expect(importCycles(folderWith(files))).toEqual(["core/a.ts → core/b.ts → core/c.ts → core/a.ts"]);
  });
});

/** The packages that the files of a layer import. */
function packagesOf(layer: string): string[] {
  const files = readdirSync(join(SRC, layer), { recursive: true, encoding: "utf8" })
    .filter((file) => /\.tsx?$/.test(file))
    .map((file) => readFileSync(join(SRC, layer, file), "utf8"));
  const found = files.flatMap((text) => [...text.matchAll(/^(?:import|export)\b[^;]*?from "([^."][^"]*)"/gm)]);
  return [...new Set(found.map(([, name]) => name!))].sort();
}

it("leaves vitest to testing/ alone", () => {
  const sources = readdirSync(SRC, { recursive: true, encoding: "utf8" }).filter((file) => /\.tsx?$/.test(file));
  const users = sources.filter((file) => readFileSync(join(SRC, file), "utf8").includes('from "vitest"'));
  expect(users).toContain("testing/describe-store.ts");
  expect(users.filter((file) => !file.startsWith("testing/"))).toEqual([]);
});

it("leaves core and the stores without any package", () => {
  for (const layer of ["core", "place", "store/redis"]) expect(packagesOf(`kernel/${layer}`)).toEqual([]);
});

it("is written where a reader of imports sees it: one dynamic import, no bare import, no require", () => {
  const sources = readdirSync(SRC, { recursive: true, encoding: "utf8" }).filter((file) => /\.tsx?$/.test(file));
  const hidden = sources.filter((file) =>
    /\bimport\(|\brequire\(|^import "/m.test(readFileSync(join(SRC, file), "utf8")),
  );
  // It offers what needs an optional peer, vitest, and must load without it. The check of layers reads this import too.
  expect(hidden).toEqual(["testing/index.ts"]);
});
