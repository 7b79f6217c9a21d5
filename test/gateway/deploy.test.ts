import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { expect, inject, it, onTestFinished } from "vitest";
import { startWorkerd } from "../support/gateway/workerd.ts";

it("would deploy with `wrangler deploy`, with the object, the files and the policies as its only bindings", () => {
  const output = inject("wranglerOutput");
  expect(output).toContain("--dry-run: exiting now.");
  expect(output.match(/\benv\.\w+/g)).toEqual(["env.COUNTS", "env.STATS", "env.ASSETS", "env.POLICIES"]);
  const files = readdirSync(inject("workerDirectory"));
  expect(files.filter((name) => !/\.map$|^README\.md$/.test(name))).toEqual(["worker.js"]);
});

it("constructs stores and limiters at module scope, where a Worker may do no I/O", async () => {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL("../worker/module-scope.ts", import.meta.url))],
    bundle: true,
    format: "esm",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:workers"],
    write: false,
  });
  const { port, stop } = await startWorkerd([{ name: "module-scope", code: outputFiles[0]!.text, counts: true }]);
  onTestFinished(stop);

  expect(await (await fetch(`http://127.0.0.1:${port}`)).json()).toEqual([true, true, false]);
});
