// docs/clients.md: its code runs, and its table has every option with its default.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { expect, it, vi } from "vitest";

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const [, PAGE = ""] = read("docs/clients.md").split("\n## A client that waits: `headgate/client`\n");
const ENTRY = fileURLToPath(new URL("../../src/client/index.ts", import.meta.url));
const snippets = [...PAGE.matchAll(/```ts\n(.*?)```/gs)].map(([, text]) => text!);

async function bundled(contents: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents, loader: "ts", resolveDir: "/" },
    alias: { "headgate/client": ENTRY },
    ...{ bundle: true, minify: true, format: "esm", platform: "neutral", write: false },
  });
  return outputFiles[0]!.text;
}

it.each(snippets)("this runs:\n%s", async (contents) => {
  const urls: string[] = [];
  vi.stubGlobal("fetch", async (url: string) => {
    urls.push(url);
    return new Response();
  });
  await import(`data:text/javascript,${encodeURIComponent(await bundled(contents))}`);
  expect(urls.length).toBeGreaterThan(0);
});

it("has one snippet, and every option with its default", () => {
  expect(snippets).toHaveLength(1);
  const source = read("src/client/index.ts");
  const options = /interface BackoffOptions \{(.*?)\n\}/s.exec(source)![1]!;
  const names = [...options.matchAll(/^ {2}readonly (\w+)\?/gm)].map(([, name]) => name);
  const rows = [...PAGE.matchAll(/^\| `(\w+)` \| (.+?) \|/gm)].map(([, name, value]) => [name, value!]);
  expect(rows.map(([name]) => name)).toEqual(names);
  const numberIn = (name: string) =>
    Number(new RegExp(`const ${name} = ([\\d_]+);`).exec(source)![1]!.replaceAll("_", ""));
  expect(Object.fromEntries(rows)).toMatchObject({
    timeBudgetMs: `\`${numberIn("DEFAULT_TIME_BUDGET_MS")}\``,
    maxRetries: `\`${numberIn("DEFAULT_MAX_RETRIES")}\``,
  });
});

// How a bundler sees the entry: small, without dependencies, and removed completely if nothing of it is used.
it("is below 1.8 KiB gzip, and has no side effect", async () => {
  const text = await bundled(`export * from ${JSON.stringify(ENTRY)}`);
  expect(gzipSync(text).length).toBeLessThan(1.8 * 1024);
  expect(text).not.toMatch(/\bimport\b/);
  expect((await bundled(`import ${JSON.stringify(ENTRY)}`)).trim()).toBe("");
});

it("shows a refusal with the length of its body", () => {
  const [, length, body] = /^Content-Length: (\d+)$.*?^(\{[^\n]*\})$/ms.exec(read("docs/clients.md"))!;
  expect(new TextEncoder().encode(body).length).toBe(Number(length));
});
