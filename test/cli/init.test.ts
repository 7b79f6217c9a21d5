// What `init` writes. `npm run test:examples` installs it from the packed package and sends it requests;
// test/examples/examples.long.test.ts does the same without npm and wrangler.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { fileURLToPath } from "node:url";
import { parse as parseToml } from "smol-toml";
import { describe, expect, it } from "vitest";
import headgatePackage from "../../package.json" with { type: "json" };
import { installedSpec } from "../../src/cli/init/command.ts";
import { QUESTIONS } from "../../src/cli/init/questions.ts";
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

describe("on a terminal", () => {
  /** Types these lines, and then nothing more. @param end: the input ends there. */
  async function type(lines: readonly string[], args: readonly string[] = [], end = false) {
    const [cwd, terminal] = [folderWith(), new PassThrough()];
    for (const line of lines) terminal.write(`${line}\n`);
    if (end) terminal.end();
    const ran = await headgate(cwd, ["init", "gate", ...args], {}, { terminal });
    return { ...ran, cwd, made: end ? {} : filesIn(join(cwd, "gate")) };
  }
  const filesIn = (folder: string) => {
    const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    return Object.fromEntries(
      files.map(({ name, parentPath }) => [name, readFileSync(join(parentPath, name), "utf8")]),
    );
  };
  const without = async (...args: string[]) => {
    const folder = folderWith();
    expect(await headgate(folder, ["init", "gate", ...args])).toMatchObject({ status: 0, stderr: "" });
    return filesIn(join(folder, "gate"));
  };

  it("asks three questions, and Enter takes what it writes without one", async () => {
    const { status, stderr, made } = await type(["", "", ""]);
    expect(status).toBe(0);
    expect(stderr.match(/[A-Z][^\n]*\?$/gm)).toEqual(Object.values(QUESTIONS).map(({ asks }) => asks));
    expect(made).toEqual(await without());
  });

  it("takes numbers, words and a URL, asks again if it is none of them, and writes what the options write", async () => {
    const { stderr, made } = await type(["5", "2", "https://origin.example.com", "ftp", "3", "redis"]);
    expect(stderr.match(/^\[1\] (Type.*)$/gm)).toEqual([
      "[1] Type a number from 1 to 4.",
      "[1] Type the URL itself, with https://",
      "[1] Type a number from 1 to 3.",
    ]);
    const answers = ["--behind", "https://origin.example.com", "--key", "jwt", "--store", "redis"];
    expect(made).toEqual(await without(...answers));
    expect((await type([""], ["--behind", "worker", "--key", "api-key"])).made).toEqual(
      await without("--behind", "worker", "--key", "api-key"),
    );
    expect((await type(["4"])).made).toEqual(await without("--counts"));
    const [cwd, terminal] = [folderWith(), new PassThrough()];
    terminal.write("4\n");
    expect(await headgate(cwd, ["init", "gate", "--key", "jwt"], {}, { terminal })).toMatchObject({ status: 2 });
  });

  it("asks nothing with --yes, --json or --counts, and writes nothing if the input ends", async () => {
    for (const option of ["--yes", "--json", "--counts"]) {
      expect(await type([], [option])).toMatchObject({ status: 0, stderr: "" });
    }
    const { status, stdout, stderr, cwd } = await type([""], [], true);
    expect([status, stdout]).toEqual([1, ""]);
    expect(stderr).toContain("headgate: nothing was written: the questions were not answered\n");
    expect(readdirSync(cwd)).toEqual([]);
  });
});

it("writes gateways without a mistake or a warning, whoever is counted, wherever", async () => {
  for (const key of ["ip", "api-key", "jwt"]) {
    for (const store of ["durable-object", "redis"]) {
      const folder = folderWith();
      await headgate(folder, ["init", "--key", key, "--store", store, "--behind", "https://origin.example.com/api"]);
      const checked = await headgate(folder, ["check", "--strict", "--json"]);
      expect([key, store, checked.status, checked.stderr]).toEqual([key, store, 0, ""]);
      const { configuration } = JSON.parse(checked.stdout);
      expect(configuration).toMatchObject({ store: { kind: "durable-object" }, origin: { kind: "url" } });
      if (store === "durable-object") continue;
      const redis = ["https://redis.example", "t0ken"].map(
        (value, at) => `UPSTASH_REDIS_REST_${["URL", "TOKEN"][at]}=${value}\n`,
      );
      writeFileSync(join(folder, ".dev.vars"), redis.join(""));
      expect(JSON.parse((await headgate(folder, ["check", "--json"])).stdout).configuration.store.kind).toBe("redis");
    }
  }
});

it("writes a Worker that only counts beside the app, and prints how the app binds it", async () => {
  const folder = folderWith({ "package.json": "{}" });
  const app = join(folder, "my app");
  mkdirSync(app);
  const { status, stdout } = await headgate(app, ["init", "--counts"]);
  expect(status).toBe(0);
  const read = (file: string) => readFileSync(join(app, "my-app-counts", file), "utf8");
  const [toml, json] = [/(\[\[durable[\s\S]*?)\n\n/.exec(stdout)![1]!, /^"durable.*$/m.exec(stdout)![0]];
  const binding = { name: "COUNTS", class_name: "HeadgateCounts", script_name: "my-app-counts" };
  for (const bound of [parseToml(toml), JSON.parse(`{${json}}`)]) {
    expect(bound).toEqual({ durable_objects: { bindings: [binding] } });
  }
  const { script_name, ...own } = binding;
  const wrangler = parseToml(read("wrangler.toml"));
  expect(wrangler).toMatchObject({ name: script_name, durable_objects: { bindings: [own] }, workers_dev: false });
  expect(read("README.md")).toContain(toml);
});

it.each([
  ["--behind", "ftp://origin.example.com"],
  ["--behind", 'https://origin.example.com/"'],
  ["--behind", "https://origin.example.com?a=b"],
  ["--behind", "https://origin.example.com/\u0001"],
  ["--behind", ""],
  ["--behind", "<url>"],
  ["--behind", "framework", "--store", "redis"],
  ["--key", "bearer"],
  ["--store", "memory"],
  ["--counts", "--key", "ip"],
])("does not know %s %s", async (...args) => {
  const folder = folderWith();
  // On a terminal, too: nobody is asked, and the process may end.
  for (const terminal of [undefined, new PassThrough()]) {
    expect(await headgate(folder, ["init", ...args], {}, { terminal })).toMatchObject({ status: 2, stdout: "" });
    expect(terminal?.listenerCount("end") ?? 0).toBe(0);
  }
  expect(readdirSync(folder)).toEqual([]);
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
