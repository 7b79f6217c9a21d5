// CLOUDFLARE_ENV: what `npm start` and `npm run deploy` hand to wrangler, and what `headgate check` reads, is one
// environment.

import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { wranglerOptions } from "../../scripts/dev/wrangler-options.ts";
import { folderWith, headgate } from "./run.ts";

const TOML = `[vars]\nREGION = "eu"\n[env.staging.vars]\nREGION = "na"\n[env.prod.vars]\nREGION = "as"\n`;
const REGIONS: Readonly<Record<string, string | undefined>> = { eu: undefined, na: "staging", as: "prod" };

interface Case {
  readonly args?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  readonly files?: Readonly<Record<string, string>>;
}

const CASES: readonly (readonly [what: string, given: Case, expected: string | undefined])[] = [
  ["nothing", {}, undefined],
  ["the process", { env: { CLOUDFLARE_ENV: "staging" } }, "staging"],
  ["an empty variable", { env: { CLOUDFLARE_ENV: "" } }, undefined],
  ["--env before the process", { args: ["--env", "prod"], env: { CLOUDFLARE_ENV: "staging" } }, "prod"],
  ["an empty --env", { args: ["--env", ""], env: { CLOUDFLARE_ENV: "staging" } }, undefined],
  [".env", { files: { ".env": "CLOUDFLARE_ENV=staging\n" } }, "staging"],
  [".env.local", { files: { ".env": "CLOUDFLARE_ENV=prod\n", ".env.local": "CLOUDFLARE_ENV=staging\n" } }, "staging"],
  ["the process before .env", { env: { CLOUDFLARE_ENV: "prod" }, files: { ".env": "CLOUDFLARE_ENV=staging" } }, "prod"],
  ["an empty variable, and .env", { env: { CLOUDFLARE_ENV: "" }, files: { ".env": "CLOUDFLARE_ENV=prod" } }, "prod"],
  ["an env file, not .env", { args: ["--env-file", "a"], files: { a: "", ".env": "CLOUDFLARE_ENV=prod" } }, undefined],
  ["--env-file", { args: ["--env-file", "a"], files: { a: "CLOUDFLARE_ENV=prod" } }, "prod"],
];

describe.each(CASES)("%s", (_, { args = [], env = {}, files = {} }, expected) => {
  it("is the environment that wrangler takes", () => {
    const cwd = folderWith(files);
    expect(wranglerOptions(["--cwd", cwd, ...args], env).environmentName).toBe(expected);
  });

  it.each([[], ["--deployed"]])("is the environment that headgate check reads %j", async (...more) => {
    const policies = '[[vars.POLICIES]]\nname = "a"\nlimits = [{ limit = 1, window = "1m" }]\n';
    const toml = Object.values(REGIONS).reduce(
      (text: string, name) => text + (name ? policies.replace("vars", `env.${name}.vars`) : policies),
      TOML,
    );
    const cwd = folderWith({ "wrangler.toml": toml, ...files });
    const { stdout } = await headgate(cwd, ["check", "--memory", "--json", ...args, ...more], env);
    expect(REGIONS[JSON.parse(stdout).configuration.region]).toBe(expected);
  });
});

it("an environment of CLOUDFLARE_ENV that is not there is misuse", async () => {
  const cwd = folderWith({ "wrangler.toml": TOML });
  expect(await headgate(cwd, ["check"], { CLOUDFLARE_ENV: "live" })).toMatchObject({
    status: 2,
    stderr: "headgate: wrangler.toml has no environment live, of CLOUDFLARE_ENV (its environments: staging, prod)\n",
  });
  expect(wranglerOptions(["-c", join(cwd, "wrangler.toml")], { CLOUDFLARE_ENV: "live" }).environmentName).toBe("live");
});
