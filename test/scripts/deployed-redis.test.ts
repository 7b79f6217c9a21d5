// A deployment has its URL in wrangler.toml and its token as a secret of the deployed Worker. On this machine the
// scripts say that the token is missing, and go on.

import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { findSources } from "../../scripts/dev/start-bindings.ts";
import { findConfiguredStore } from "../../scripts/dev/start-store.ts";
import { folderWith, headgate } from "../cli/run.ts";

const URL_NAME = "UPSTASH_REDIS_REST_URL";
const TOKEN_NAME = "UPSTASH_REDIS_REST_TOKEN";

let directory: string;
beforeEach(() => {
  directory = folderWith();
  write("wrangler.toml", `[vars]\n${URL_NAME} = "https://x.upstash.io"\n${POLICIES}`);
});

const POLICIES = `[[vars.POLICIES]]\nname = "a"\nlimits = [{ limit = 1, window = "1m" }]\n`;
const write = (name: string, text: string) => writeFileSync(join(directory, name), text);

const run = (...args: string[]) => headgate(directory, args);

it("headgate check prints the configuration, and where the token is", async () => {
  const { status, stdout, stderr } = await run("check");
  const node = { url: "https://x.upstash.io", token: "(a secret of the deployed Worker)" };
  expect([status, JSON.parse(stdout)]).toMatchObject([0, { store: { kind: "redis", nodes: [node] } }]);
  expect(stderr).toContain("note: UPSTASH_REDIS_REST_TOKEN is not on this machine");
  expect(stderr).toContain(".dev.vars");
});

it("headgate check says nothing of it where the token is there", async () => {
  write(".dev.vars", `${TOKEN_NAME}=t0ken`);
  const { status, stdout, stderr } = await run("check");
  expect([status, JSON.parse(stdout).store.nodes[0].token, stderr]).toEqual([0, "(hidden)", ""]);
});

it.each([
  ["the URL is wrong itself", `[vars]\n${URL_NAME} = "redis://x"\n${POLICIES}`, "", "ERR_REDIS_URL"],
  ["the URL is one of this machine", POLICIES, `${URL_NAME}=http://127.0.0.1:8079`, "ERR_REDIS_TOKEN"],
  ["the URL is missing instead", POLICIES, `${TOKEN_NAME}=t0ken`, "ERR_REDIS_URL"],
])("headgate check still refuses it where %s", async (_what, toml, devVars, code) => {
  write("wrangler.toml", toml);
  write(".dev.vars", devVars);
  const { status, stderr } = await run("check");
  expect([status, stderr]).toEqual([1, expect.stringContaining(code)]);
});

it("headgate limits writes its files", async () => {
  const { status, stderr } = await run("limits", "--out", directory);
  expect([status, stderr]).toEqual([0, expect.stringContaining("UPSTASH_REDIS_REST_TOKEN is not on this machine")]);
  expect(readdirSync(directory)).toEqual(expect.arrayContaining(["limits.html", "limits.json", "limits.md"]));
});

it("npm start does not use that Redis, and does as soon as the token is there", () => {
  const find = (args: string[] = [], environment = {}) =>
    findConfiguredStore(findSources(["--cwd", directory, ...args], environment));
  const unusable = [{ url: "https://x.upstash.io", source: "wrangler.toml", urlIn: URL_NAME, tokenIn: TOKEN_NAME }];
  expect(find()).toEqual({ found: [], unusable, hasCounts: false, handedOn: {} });
  const used = unusable;
  expect(find(["--var", `${TOKEN_NAME}:t`]).found).toEqual(used);
  expect(find([], { [TOKEN_NAME]: "t" }).found).toEqual(used);
  write(".dev.vars", `${TOKEN_NAME}=t`);
  expect(find().found).toEqual(used);
});

it("is so with nodes too: headgate check names the tokens that are missing, and npm start leaves all nodes out", async () => {
  const nodes = ["a", "b"].map(
    (name) => `{ name = "${name}", url = "https://${name}.example", token = "TOKEN_${name}" }`,
  );
  write("wrangler.toml", `[vars]\nREDIS_NODES = [${nodes.join(", ")}]\n${POLICIES}`);
  write(".dev.vars", "TOKEN_a=t0ken");
  const { status, stdout, stderr } = await run("check");
  const [a, b] = [
    { name: "a", token: "(hidden)" },
    { name: "b", token: "(a secret of the deployed Worker)" },
  ];
  expect([status, JSON.parse(stdout).store.nodes]).toMatchObject([0, [a, b]]);
  expect(stderr).toContain("note: TOKEN_b is not on this machine");
  const { found, unusable } = findConfiguredStore(findSources(["--cwd", directory], {}));
  expect([found, unusable.map(({ tokenIn }) => tokenIn)]).toEqual([[], ["TOKEN_b"]]);
});
