// How a bundler sees the entry: small, without dependencies, and removed completely if nothing of it is used.

import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { expect, it } from "vitest";

const ENTRY = fileURLToPath(new URL("../../src/client/index.ts", import.meta.url));

async function bundled(contents: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: "/" },
    bundle: true,
    minify: true,
    format: "esm",
    platform: "neutral",
    write: false,
  });
  return outputFiles[0]!.text;
}

it("is below 1.8 KiB gzip", async () => {
  const text = await bundled(`export * from ${JSON.stringify(ENTRY)}`);
  expect(gzipSync(text).length).toBeLessThan(1.8 * 1024);
  expect(text).not.toMatch(/\bimport\b/);
});

it("has no side effect", async () => {
  expect((await bundled(`import ${JSON.stringify(ENTRY)}`)).trim()).toBe("");
});
