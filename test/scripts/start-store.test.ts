import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { beforeEach, describe, expect, it } from "vitest";
import { chooseAdmin } from "../../scripts/dev/start-admin.ts";
import { envFileWith, findSources } from "../../scripts/dev/start-bindings.ts";
import { findConfiguredStore } from "../../scripts/dev/start-store.ts";
import { optionValues } from "../../scripts/dev/wrangler-options.ts";
import { folderWith } from "../cli/run.ts";

const URL_NAME = "UPSTASH_REDIS_REST_URL";
const TOKEN_NAME = "UPSTASH_REDIS_REST_TOKEN";
/** A line of wrangler.toml. Without a token, the URL would be for the deployed Worker only. */
const TOKEN = `${TOKEN_NAME} = "t"`;

let directory: string;
beforeEach(() => {
  directory = folderWith();
});

const write = (name: string, text: string) => writeFileSync(join(directory, name), text);
const sourcesOf = (args: string[], environment: NodeJS.ProcessEnv = {}) =>
  findSources(["--cwd", directory, ...args], environment);
const find = (args: string[], environment: NodeJS.ProcessEnv = {}) => findConfiguredStore(sourcesOf(args, environment));
const NOTHING = { found: [], unusable: [], hasCounts: false, handedOn: {} };

/** The env file with what is handed on, as wrangler reads it, and the files before it. */
function envFileOf(args: string[], environment: NodeJS.ProcessEnv) {
  const sources = sourcesOf(args, environment);
  const { text, others } = envFileWith(findConfiguredStore(sources).handedOn, sources);
  return { values: parseEnv(text), others };
}

describe("findConfiguredStore", () => {
  it("finds nothing where nothing is set, or set to nothing", () => {
    write("wrangler.toml", `name = "x"\n[vars]\n${URL_NAME} = ""`);
    expect(find(["--var", "OTHER:1"], { [URL_NAME]: "" })).toEqual(NOTHING);
  });

  it("prefers --var, then the environment, then .dev.vars, then wrangler.toml", () => {
    const environment = { [URL_NAME]: "http://environment" };
    const sourceOf = (args: string[], env: NodeJS.ProcessEnv) => find(args, env).found[0];
    write("wrangler.toml", `[vars]\n${URL_NAME} = "http://toml"\n${TOKEN}`);
    expect(sourceOf([], {})).toMatchObject({ url: "http://toml", source: "wrangler.toml" });
    write(".dev.vars", `${URL_NAME}=http://dev-vars`);
    expect(sourceOf([], {})).toMatchObject({ url: "http://dev-vars", source: ".dev.vars" });
    expect(sourceOf([], environment)).toMatchObject({ url: "http://environment", source: "the environment" });
    const given = sourceOf(["--var", `${URL_NAME}:http://var:1`], environment);
    expect(given).toMatchObject({ url: "http://var:1", source: "--var" });
  });

  it("reads what wrangler reads: env files in place of .dev.vars, an environment's own files and variables", () => {
    write(".dev.vars", `${URL_NAME}=http://dev-vars`);
    write("given", `${URL_NAME}=http://given`);
    expect(find(["--env-file", "given"]).found[0]).toMatchObject({ url: "http://given", source: "an env file" });
    write(".dev.vars.staging", `${URL_NAME}=http://staging`);
    expect(find(["--env", "staging"]).found[0]?.url).toBe("http://staging");
    rmSync(join(directory, ".dev.vars.staging"));
    rmSync(join(directory, ".dev.vars"));
    const staging = `[env.staging.vars]\n${URL_NAME} = "http://staging-toml"\n${TOKEN}`;
    write("other.toml", `[vars]\n${URL_NAME} = "http://top"\n${TOKEN}\n${staging}`);
    expect(find(["-c", "other.toml"]).found[0]?.url).toBe("http://top");
    expect(find(["-c", "other.toml", "-e=staging"]).found[0]?.url).toBe("http://staging-toml");
    write(".env", `${URL_NAME}=http://dot-env`);
    expect(find(["-c", "other.toml"]).found[0]).toMatchObject({ url: "http://dot-env", source: "an env file" });
  });

  it("hands on what comes from the environment only, with what .dev.vars holds, and names the files it replaces", () => {
    write(".env", "A=1");
    const onlyToken = envFileOf(["--var", `${URL_NAME}:http://x`], { [TOKEN_NAME]: "t" });
    expect(onlyToken).toEqual({ values: { [TOKEN_NAME]: "t" }, others: [join(directory, ".env")] });
    write(".dev.vars", `KEY_SECRET=s\n${TOKEN_NAME}=other`);
    const both = envFileOf([], { [URL_NAME]: "http://x", [TOKEN_NAME]: "t'\"$x" });
    // `$` is escaped, because wrangler expands variables in env files.
    expect(both.values).toEqual({ KEY_SECRET: "s", [URL_NAME]: "http://x", [TOKEN_NAME]: "t'\"\\$x" });
    expect(both.others).toEqual([]);
    expect(find(["--var", `${URL_NAME}:http://x`, `${TOKEN_NAME}:y`], { [TOKEN_NAME]: "t" }).handedOn).toEqual({});
  });

  it("finds the nodes of REDIS_NODES, as an array or as its JSON, and hands on the tokens that they name", () => {
    const nodes = [
      { name: "a", url: "http://a", token: "TOKEN_A" },
      { name: "b", url: "http://b", token: "TOKEN_B" },
    ];
    write("wrangler.toml", '[vars]\nREDIS_NODES = [{ name = "a", url = "http://a", token = "TOKEN_A" }]');
    const named = (name: string) => ({ url: `http://${name}`, tokenIn: `TOKEN_${name.toUpperCase()}` });
    const one = find([], { TOKEN_A: "t" });
    expect(one.found).toMatchObject([{ ...named("a"), source: "wrangler.toml" }]);
    expect(one.handedOn).toEqual({ TOKEN_A: "t" });
    const two = find([], { REDIS_NODES: JSON.stringify(nodes), TOKEN_B: "t", TOKEN_C: "t" });
    expect(two.found).toMatchObject([named("a"), named("b")]);
    expect(Object.keys(two.handedOn)).toEqual(["REDIS_NODES", "TOKEN_B"]);
    // What is wrong with it, the Worker says.
    expect(find(["--var", "REDIS_NODES:soon"]).found).toMatchObject([{ source: "--var", urlIn: "REDIS_NODES" }]);
  });

  it("sees whether the Durable Object is bound, in the environment that is chosen", () => {
    const bound = (section: string) =>
      `[[${section}durable_objects.bindings]]\nname = "COUNTS"\nclass_name = "HeadgateCounts"`;
    write("wrangler.toml", bound(""));
    expect(find([]).hasCounts).toBe(true);
    expect(find(["--env", "staging"]).hasCounts).toBe(false);
    write("wrangler.toml", bound("env.staging."));
    expect(find([]).hasCounts).toBe(false);
    expect(find(["--env", "staging"]).hasCounts).toBe(true);
  });

  it("leaves a broken wrangler.toml to wrangler", () => {
    write("wrangler.toml", "= nonsense");
    expect(find([])).toEqual(NOTHING);
  });
});

describe("chooseAdmin", () => {
  const choose = (args: string[], environment: NodeJS.ProcessEnv = {}) =>
    chooseAdmin(sourcesOf(args, environment).sources, args);
  const CONSOLE = "headgate: console at http://localhost:8787/.headgate/console";

  it("makes another token each time, if none is configured or an empty one is in a file", () => {
    write(".dev.vars", "ADMIN_TOKEN=");
    const [one, two] = [choose([]), choose([])];
    expect(one.handedOn.ADMIN_TOKEN).toMatch(/^[\w-]{32}$/);
    expect(one.handedOn.ADMIN_TOKEN).not.toBe(two.handedOn.ADMIN_TOKEN);
    expect(one.line).toBe(`${CONSOLE}, with the token ${one.handedOn.ADMIN_TOKEN}`);
  });

  it("makes none, and says nothing, with --var ADMIN_TOKEN:", () => {
    write(".dev.vars", "ADMIN_TOKEN=configured");
    expect(choose(["--var", "ADMIN_TOKEN:"], { ADMIN_TOKEN: "other" })).toEqual({ handedOn: {} });
  });

  it("takes one that is configured, does not print it, and hands on what is in the environment", () => {
    write("wrangler.toml", '[vars]\nADMIN_TOKEN = "of-the-file"');
    expect(choose([])).toEqual({ handedOn: {}, line: `${CONSOLE}, with the ADMIN_TOKEN of wrangler.toml` });
    write(".dev.vars", "ADMIN_TOKEN=of-dev-vars");
    expect(choose([])).toEqual({ handedOn: {}, line: `${CONSOLE}, with the ADMIN_TOKEN of .dev.vars` });
    const environment = { ADMIN_TOKEN: "of-the-environment" };
    const line = `${CONSOLE}, with the ADMIN_TOKEN of the environment`;
    expect(choose([], environment)).toEqual({ handedOn: environment, line });
    expect(choose(["--var", "ADMIN_TOKEN:x"], environment)).toMatchObject({ handedOn: {} });
  });

  it.each([
    [["--port", "8799"], "http://localhost:8799/"],
    [["--port=8799", "--ip", "0.0.0.0"], "http://localhost:8799/"],
    [["--ip", "127.0.0.2", "--local-protocol", "https"], "https://127.0.0.2:8787/"],
    [["--ip=::1"], "http://[::1]:8787/"],
  ])("prints where wrangler listens: %j", (args, address) => {
    expect(choose(args).line).toContain(` ${address}.headgate/console,`);
  });
});

it("optionValues reads both spellings, and each time an option is given", () => {
  const args = ["--port", "1", "--port=2", "--portable", "3", "-p", "4", "--port"];
  expect(optionValues(args, "--port", "-p")).toEqual(["1", "2", "4"]);
});
