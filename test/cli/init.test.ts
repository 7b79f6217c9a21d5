// What `init` writes. `npm run test:examples` installs it from the packed package and sends it requests;
// test/examples/examples.long.test.ts does the same without npm and wrangler.

import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parse as parseToml } from "smol-toml";
import { describe, expect, it } from "vitest";
import headgatePackage from "../../package.json" with { type: "json" };
import { installedSpec } from "../../src/cli/init/command.ts";
import { folderWith, headgate } from "./run.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const FILES = [".gitignore", "README.md", "package.json", "src", "wrangler.toml"];

it("creates a gateway that the check accepts without a warning", async () => {
  const folder = folderWith();
  const { status, stdout, stderr } = await headgate(folder, ["init", "my gate"]);
  expect([status, stderr]).toEqual([0, ""]);
  expect(stdout).toContain('  cd "my gate"\n  npm install\n  npx wrangler dev\n');
  const made = join(folder, "my gate");
  expect(readdirSync(made).sort()).toEqual(FILES);
  expect(await headgate(made, ["check", "--strict", "--quiet"])).toEqual({ status: 0, stdout: "", stderr: "" });

  const packageJson = JSON.parse(readFileSync(join(made, "package.json"), "utf8"));
  // A clone is its own spec.
  expect(packageJson).toMatchObject({
    name: "my-gate",
    dependencies: { headgate: `file:${ROOT.replace(/[\\/]$/, "")}` },
  });
  expect(packageJson.devDependencies).toHaveProperty("wrangler");
  // The console prints commands in this form: it works in a clone too.
  expect(packageJson.scripts.headgate).toBe("headgate");
  expect(headgatePackage.peerDependencies.hono).toMatch(packageJson.dependencies.hono.replace("^", ">="));
  const wrangler = parseToml(readFileSync(join(made, "wrangler.toml"), "utf8")) as Record<string, unknown>;
  const shipped = parseToml(readFileSync(join(ROOT, "wrangler.toml"), "utf8"));
  expect(wrangler).toMatchObject({
    name: "my-gate",
    durable_objects: shipped.durable_objects,
    migrations: shipped.migrations,
    assets: { ...(shipped.assets as object), directory: "./node_modules/headgate/console/dist" },
  });
  expect(wrangler.vars).toEqual({ ...(shipped.vars as object), DEPLOYMENT: "my-gate" });
  // Every file from which wrangler reads secrets.
  expect(readFileSync(join(made, ".gitignore"), "utf8").split("\n")).toEqual(
    expect.arrayContaining([".dev.vars*", ".env*"]),
  );
  // What the runtime of wrangler 4.86 knows.
  expect(String(wrangler.compatibility_date) <= "2026-05-03").toBe(true);
});

it("creates it in this folder by default, with names that npm and Cloudflare take", async () => {
  const folder = folderWith();
  for (const [name, expected] of [
    ["headgate", "my-gateway"],
    ["_Ünder_", "nder"],
    ["x".repeat(90), "x".repeat(50)],
  ] as const) {
    mkdirSync(join(folder, name));
    const { stdout } = await headgate(join(folder, name), ["init", "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({ folder: join(folder, name), name: expected });
    expect(readdirSync(join(folder, name)).sort()).toEqual(FILES);
  }
});

it.each(["package.json", "src/index.ts", "wrangler.jsonc"])("overwrites nothing: %s", async (name) => {
  const folder = folderWith({ [name]: "mine" });
  const before = readdirSync(folder, { recursive: true });
  const { status, stdout, stderr } = await headgate(folder, ["init"]);
  expect([status, stdout]).toEqual([1, ""]);
  expect(stderr).toContain(`nothing was written: . has ${name}`);
  expect(readdirSync(folder, { recursive: true })).toEqual(before);
  expect(readFileSync(join(folder, name), "utf8")).toBe("mine");
});

describe("the spec that the package was installed by", () => {
  const lock = (resolved?: string) => ({
    "node_modules/.package-lock.json": JSON.stringify({
      packages: { "node_modules/headgate": { version: "1.2.3", resolved } },
    }),
  });
  const specIn = (folder: string) => installedSpec(join(folder, "node_modules", "headgate"), "headgate", "1.2.3");

  it.each([
    ["the registry", lock("https://registry.example/headgate/-/headgate-1.2.3.tgz"), "^1.2.3"],
    ["a mirror of it", lock("https://npm.example/a/headgate/-/headgate-1.2.3.tgz"), "^1.2.3"],
    ["a registry that npm does not note", lock(), "^1.2.3"],
    ["another installer", {}, "^1.2.3"],
    ["a repository", lock("git+ssh://git@a.example/headgate.git#0a1b"), "git+ssh://git@a.example/headgate.git#0a1b"],
    ["an address", lock("https://files.example/headgate-1.2.3.tgz"), "https://files.example/headgate-1.2.3.tgz"],
  ])("%s", (_from, files, spec) => {
    expect(specIn(folderWith(files))).toBe(spec);
  });

  it("a tarball: npm notes its path from the folder of node_modules", () => {
    const folder = folderWith(lock("file:../packed/headgate-1.2.3.tgz"));
    expect(specIn(folder)).toBe(`file:${join(folder, "../packed/headgate-1.2.3.tgz").replaceAll("\\", "/")}`);
  });
});
