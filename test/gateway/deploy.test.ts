import { mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { bundle } from "../support/gateway/bundle.ts";
import { startGateway } from "../support/gateway/gateway.ts";

function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "headgate-bundle-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return directory;
}

it("would deploy with `wrangler deploy`, with the policies and the object that counts as its only bindings", async () => {
  const directory = temporaryDirectory();
  const output = await bundle(directory);

  expect(output).toContain("--dry-run: exiting now.");
  expect(output.match(/\benv\.\w+/g)).toEqual(["env.COUNTS", "env.POLICIES"]);
  expect(readdirSync(directory).filter((name) => !/\.map$|^README\.md$/.test(name))).toEqual(["worker.js"]);
});

it("constructs stores and limiters at module scope, where a Worker may do no I/O", async () => {
  const directory = temporaryDirectory();
  await bundle(directory, "test/worker/module-scope.ts");
  renameSync(join(directory, "module-scope.js"), join(directory, "worker.js"));
  const gateway = await startGateway({ policies: [], redis: null, counts: true, directory });

  expect(await (await gateway.fetch("/")).json()).toEqual([true, true, false]);
});
