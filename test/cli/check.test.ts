import { stringify } from "smol-toml";
import { describe, expect, it } from "vitest";
import { BINDING_NAMES } from "../../src/cli/check/surely-wrong.ts";
import { edits, nearest } from "../../src/kernel/nearest.ts";
import { read, tableIn } from "../docs/markdown.ts";
import { folderWith, headgate } from "./run.ts";

const LIMITS = [{ limit: 60, window: "1m" }];
const POLICY = { name: "api", limits: LIMITS };

interface Report {
  readonly file: string;
  readonly configuration: { readonly policies: readonly object[] } | null;
  readonly mistakes: readonly { readonly message: string; readonly path?: string; readonly suggestion?: string }[];
  readonly warnings: readonly string[];
  readonly notes: readonly string[];
}

async function reportOf(files: Readonly<Record<string, string>>, ...args: string[]): Promise<Report> {
  const { stdout } = await headgate(folderWith(files), ["check", "--json", ...args]);
  return JSON.parse(stdout) as Report;
}

const COUNTS = { durable_objects: { bindings: [{ name: "COUNTS", class_name: "HeadgateCounts" }] } };
const toml = (vars: object, rest: object = {}) => ({ "wrangler.toml": stringify({ ...COUNTS, ...rest, vars }) });

it("prints the configuration with its defaults", async () => {
  const { status, stdout, stderr } = await headgate(folderWith(toml({ POLICIES: [POLICY] })), ["check"]);
  expect([status, stderr]).toEqual([0, ""]);
  const policies = [{ name: "api", key: ["ip"] }];
  expect(JSON.parse(stdout)).toMatchObject({ store: { kind: "durable-object" }, policies });
  expect(await headgate(folderWith(toml({ POLICIES: [POLICY] })), ["check", "-q"])).toMatchObject({ stdout: "" });
});

it("prints who issues tokens, and which addresses are exempt", async () => {
  const IDENTITY = { jwks: "https://id.example.com/jwks", issuer: "https://id.example.com", audience: "api" };
  const policy = { ...POLICY, key: ["jwt:sub"], exempt: "10.0.0.0/8" };
  const { status, stdout, stderr } = await headgate(folderWith(toml({ POLICIES: [policy], IDENTITY })), ["check"]);
  expect([status, stderr]).toEqual([0, ""]);
  expect(JSON.parse(stdout)).toMatchObject({
    identity: [{ ...IDENTITY, audience: ["api"] }],
    policies: [{ key: ["jwt:sub"], exempt: ["10.0.0.0/8"] }],
  });
});

it("prints every mistake, with what was probably meant", async () => {
  const folder = folderWith(toml({ POLICIES: [{ name: "api", limts: LIMITS }], REGION: "?" }));
  expect(await headgate(folder, ["check"])).toEqual({
    status: 1,
    stdout: "",
    stderr: `3 mistakes in the configuration:
- POLICIES[0].limits: expected a list of 1 to 8 limits; found nothing (ERR_POLICY_LIMITS, docs/errors.md#err_policy_limits)
- POLICIES[0].limts: expected no limts: did you mean limits?; found a list (ERR_POLICY_FIELD, docs/errors.md#err_policy_field)
- REGION: expected 1 to 32 letters, digits, _ . or -, beginning with a letter or digit; found "?" (ERR_REGION, docs/errors.md#err_region)
`,
  });
});

describe("a Worker that would count in memory", () => {
  const IN_MEMORY =
    /^1 mistake in the configuration:\n- COUNTS: expected a Durable Object or Redis: .*\(ERR_COUNTS, \S+\)\n$/;
  const files = toml({ POLICIES: [POLICY] }, { durable_objects: {}, env: { prod: { vars: { POLICIES: [POLICY] } } } });
  const bound = toml({ POLICIES: [POLICY] }, { env: { prod: { vars: { POLICIES: [POLICY] } } } });

  it.each([
    ["of a file without an object", files, []],
    ["deployed", files, ["--deployed"]],
    ["in an environment, which does not inherit the object", bound, ["--env", "prod"]],
  ])("is a mistake: %s", async (_what, content, args) => {
    const { status, stderr } = await headgate(folderWith(content), ["check", ...args]);
    expect([status, stderr]).toEqual([1, expect.stringMatching(IN_MEMORY)]);
    const inMemory = await headgate(folderWith(content), ["check", "--memory", ...args]);
    expect(inMemory).toMatchObject({ status: 0, stderr: "" });
  });

  it("is none with a Redis, nor with one whose address is wrong, which is another mistake", async () => {
    const redis = { UPSTASH_REDIS_REST_URL: "https://eu1.example.com", UPSTASH_REDIS_REST_TOKEN: "token" };
    const args = Object.entries(redis).flatMap((one) => ["--var", one.join(":")]);
    expect((await reportOf(files, ...args)).mistakes).toEqual([]);
    const wrong = await reportOf(files, ...args.slice(2), "--var", "UPSTASH_REDIS_REST_URL:redis://a");
    expect(wrong.mistakes.map(({ path }) => path)).toEqual(["UPSTASH_REDIS_REST_URL"]);
  });
});

describe("what a typing error probably meant", () => {
  const limit = (fields: object) => ({ POLICIES: [{ name: "api", limits: [{ limit: 60, ...fields }] }] });
  const policy = (fields: object) => ({ POLICIES: [{ ...POLICY, ...fields }] });
  const month = { algorithm: "calendar", window: "month" };

  it.each([
    ["POLICIES[0].limits[0].algorithm", limit({ algorithm: "sliding_window", window: "1m" }), '"sliding-window"'],
    ["POLICIES[0].limits[0].window", limit({ window: "1 min" }), '"1m"'],
    ["POLICIES[0].limits[0].window", limit({ window: "1.5h" }), '"90m"'],
    ["POLICIES[0].limits[0].window", limit({ window: "1 week" }), '"7d"'],
    ["POLICIES[0].limits[0].window", limit({ algorithm: "calendar", window: "months" }), '"month"'],
    ["POLICIES[0].limits[0].zone", limit({ ...month, zone: "America/Los_Angles" }), '"America/Los_Angeles"'],
    ["POLICIES[0].limits[0].timeout", limit({ algorithm: "concurrency", timeout: "30 sec" }), '"30s"'],
    ["POLICIES[0].meter.unit", policy({ meter: { unit: "token" } }), '"tokens"'],
    ["POLICIES[0].key[1]", policy({ key: ["ip", "header-x-user"] }), '"header:x-user"'],
    ["POLICIES[0].key[1]", policy({ key: ["ip", "ip/24"] }), '"ip4/24"'],
    ["POLICIES[0].key", policy({ key: "X-Api-Key" }), '"header:x-api-key"'],
    ["POLICIES[0].key[0]", policy({ key: ["Authorization"] }), '"bearer"'],
    ["POLICIES[0].key[0]", policy({ key: ["ip + beare"] }), '"ip+bearer"'],
    ["RATE_LIMIT_HEADERS", { POLICIES: [POLICY], RATE_LIMIT_HEADERS: "draft11" }, '"draft-11"'],
    ["IDENTITY.jwks", { POLICIES: [POLICY], IDENTITY: { jwks: "id.example.com" } }, '"https://id.example.com"'],
    ["COUNTS_LOCATION", { POLICIES: [POLICY], COUNTS_LOCATION: "wuer" }, '"weur"'],
    ["REGIONS.contry", { POLICIES: [POLICY], REGIONS: { contry: { DE: "eu" } } }, "country"],
    ["ORIGIN_URL", { POLICIES: [POLICY], ORIGIN_URL: "o.example.com" }, '"https://o.example.com"'],
    ["ORIGIN_URL", { POLICIES: [POLICY], ORIGIN_URL: "localhost:3000" }, '"http://localhost:3000"'],
    ["UPSTASH_REDIS_REST_URL", { UPSTASH_REDIS_REST_URL: "eu1-a-1.upstash.io" }, '"https://eu1-a-1.upstash.io"'],
    ["REDIS_NODES[0].url", { REDIS_NODES: [{ name: "a", url: "a.example", token: "T" }] }, '"https://a.example"'],
  ])("%s", async (path, vars, suggestion) => {
    const { mistakes } = await reportOf(toml(vars));
    expect(mistakes.find((mistake) => mistake.path === path)).toMatchObject({ suggestion });
  });

  it.each([
    ["a word like no other", policy({ colour: "red" })],
    ["a duration of no unit", limit({ window: "5 moons" })],
    ["a duration for a calendar", limit({ algorithm: "calendar", window: "1d" })],
    ["a duration that is too long", limit({ window: "9 weeks" })],
    ["a key of an unknown kind", policy({ key: ["shoe-size"] })],
    ["a mode of another kind", policy({ mode: 7 })],
    ["a word that is right, but not beside another field", policy({ consistency: "shared", onStoreFailure: "deny" })],
    ["a number of a plan", policy({ plans: { pro: { api: "many" } } })],
  ])("is not guessed: %s", async (_what, vars) => {
    const { mistakes } = await reportOf(toml(vars));
    expect(mistakes.map(({ suggestion }) => suggestion)).toEqual([undefined]);
  });

  it("is found in JSON too", async () => {
    const POLICIES = JSON.stringify([{ ...POLICY, key: "heder:x-user" }]);
    expect((await reportOf(toml({ POLICIES }))).mistakes).toMatchObject([{ suggestion: '"header:x-user"' }]);
  });

  it("counts edits", () => {
    const pairs = [
      ["", "", 0],
      ["", "abc", 3],
      ["limts", "limits", 1],
      ["windwo", "window", 1],
      ["kitten", "sitting", 3],
    ] as const;
    for (const [a, b, count] of pairs) expect([edits(a, b), edits(b, a)]).toEqual([count, count]);
    expect(nearest("lmit", ["limits", "limit"])).toBe("limit");
    expect(nearest("a", ["b"])).toBeUndefined();
  });
});

describe("what is allowed and surely wrong", () => {
  const GET = { ...POLICY, match: { method: ["GET", "PSOT"] } };
  const EXCEPT = { ...POLICY, except: [{ path: "/a" }, { method: "GTE" }] };
  const FILES = { assets: { directory: "./console/dist", run_worker_first: ["/.headgate/console*"] } };
  const NODE = { name: "a", url: "https://a", token: "A_TOKEN" };
  const OLD = { compatibility_date: "2023-01-01" };

  it.each<[vars: object, warning: string, rest?: object]>([
    [{ routes: ["a.b/*"] }, "vars.routes: wrangler does not look for routes among the variables. Move it above [vars]"],
    [{ POLICIES: [GET] }, "POLICIES[0].match.method: no client sends PSOT. Did you mean POST?"],
    [{ POLICIES: [EXCEPT] }, "POLICIES[0].except[1].method: no client sends GTE. Did you mean GET?"],
    [{}, "compatibility_date: before 2024-04-03 a Worker cannot call the object that counts. Found 2023-01-01", OLD],
    [{ EXPLAIN: "on" }, "EXPLAIN is on, but without ADMIN_TOKEN or ACCESS_TEAM nobody could read a token"],
    [{}, "assets.run_worker_first: requests for static files are answered without limits. Set it to true", FILES],
    [{}, "POLICIES_2: the Worker sees only variables. Move it into [vars]", { POLICIES_2: [POLICY] }],
  ])("%j", async (vars, warning, rest = {}) => {
    expect((await reportOf(toml({ POLICIES: [POLICY], ...vars }, rest))).warnings).toEqual([warning]);
  });

  it.each([
    ["UPSTASH_REDIS_URL", "UPSTASH_REDIS_REST_URL"],
    ["REDIS_TIMEOUT", "REDIS_TIMEOUT_MS"],
    ["COUNT", "COUNTS"],
    ["ORIGIIN", "ORIGIN"],
    ["POLICY", "POLICIES"],
    ["REGOIN", "REGION"],
    ["region_s", "REGIONS"],
    ["SECRET_KEY", "KEY_SECRET"],
  ])("%s is not read", async (name, meant) => {
    // Beside the right name, the other one is the user's own.
    const files = toml({ [name]: "x", ...(meant !== "POLICIES" && { POLICIES: [POLICY] }) }, { durable_objects: {} });
    expect((await reportOf(files)).warnings).toEqual([`${name} is not read. Did you mean ${meant}?`]);
  });

  it.each([
    ["variables of the user's own program", { POLICIES: [POLICY], LOG_LEVEL: "x", API_URL: "x", STRIPE_KEY: "x" }],
    ["a short window as text", { POLICIES: [{ name: "a", limits: [{ limit: 1, window: "250ms" }] }] }],
    ["a name beside the right one", { POLICIES: [POLICY], ORIGIN_URL: "https://a.example", ORIGIN_URLS: "x" }],
    ["the token of a node", { POLICIES: [POLICY], REDIS_NODES: [NODE], KEY_SECRET: "sixteen letters!", A_TOKEN: "x" }],
    ["methods of one's own", { POLICIES: [{ ...POLICY, match: { method: "PURGE" } }] }],
  ])("is not said of %s", async (_what, vars) => {
    expect(await reportOf(toml(vars))).toMatchObject({ mistakes: [], warnings: [] });
  });

  it("knows every binding of docs/configuration.md", () => {
    const documented = tableIn(read("docs/configuration.md"), "Binding").map(({ Binding }) => Binding!);
    // ANALYTICS is read only to be refused.
    expect(BINDING_NAMES.filter((name) => name !== "ANALYTICS").sort()).toEqual(documented.sort());
  });

  it("ends with 0, and with --strict with 1", async () => {
    const folder = folderWith(toml({ POLICIES: [POLICY], ORIGIN_ULR: "https://a.example" }));
    const { status, stderr } = await headgate(folder, ["check"]);
    expect([status, stderr]).toEqual([0, "warning: ORIGIN_ULR is not read. Did you mean ORIGIN_URL?\n"]);
    expect(await headgate(folder, ["check", "--strict"])).toMatchObject({ status: 1 });
  });
});

it("notes that a body beyond 1 MiB is not read under a meter", async () => {
  const limits = [{ limit: 1_000, window: "1m" }];
  const metered = { name: "llm", meter: { unit: "tokens" }, limits };
  const { notes } = await reportOf(toml({ POLICIES: [metered, { name: "plain", limits }] }));
  expect(notes).toContain(
    "llm: a body beyond 1 MiB is not read, for example one with images. It reserves its length (a token for each 4 bytes), maxOutput, and with usd the dearest price",
  );
  expect((await reportOf(toml({ POLICIES: [{ name: "plain", limits }] }))).notes).toEqual([]);
});

it("notes which paths of a meter nobody can meter", async () => {
  const limits = [{ limit: 1_000, window: "1m" }];
  const notesOf = async (match: object, meter: object = {}) => {
    const policy = { name: "llm", match, limits, meter: { unit: "tokens", ...meter } };
    return (await reportOf(toml({ POLICIES: [policy] }))).notes.filter((note) => note.includes("segment"));
  };
  const which = "if their path has the segment images, audio, videos, batches, files, fine_tuning, realtime";
  expect(await notesOf({ path: "/v1/*" })).toEqual([`llm: requests with a body are refused with 400 ${which}`]);
  expect(await notesOf({}, { unmetered: { cost: 10 } })).toEqual([`llm: requests with a body cost 10 each ${which}`]);
  expect(await notesOf({ path: ["/v1/chat/completions", "/v1/files"] })).toHaveLength(1);
  expect(await notesOf({ path: "/v1/chat/completions" })).toEqual([]);
});

describe("a meter that is allowed and surely wrong", () => {
  const prices = { default: { input: 15, output: 75 } };
  const warningsOf = async (match: object, meter: object = { unit: "usd", prices }) => {
    const limits = [{ algorithm: "fixed-window", limit: 5, window: "1d" }];
    return (await reportOf(toml({ POLICIES: [{ name: "llm", match, meter, limits }] }))).warnings;
  };

  it.each<[string, object, object?]>([
    ["does not match POST", { method: "GET" }],
    ["none of its paths ends with", { path: ["/v1/answers", "/v1/:model/cancel"] }],
    ["default are 0", {}, { unit: "usd", prices: { default: { input: 0, output: 0 } } }],
    ["per million tokens, not per token", {}, { unit: "usd", prices: { ...prices, a: { input: 3e-6, output: 9e-6 } } }],
    ["cached input that costs more", {}, { unit: "usd", prices: { default: { input: 1, cachedInput: 2, output: 3 } } }],
  ])("%s", async (said, match, meter) => {
    const warnings = await warningsOf(match, meter);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain(said);
  });

  it.each<[string, object, object?]>([
    ["every path", {}],
    ["a format", { method: ["GET", "POST"], path: "/openai/v1/Chat/Completions/" }],
    ["a wildcard", { path: "/v1/*" }],
    ["a name at the end", { path: "/v1/:what" }],
    ["a wildcard before", { path: ["/other", "/*/messages"] }],
    ["Gemini", { path: "/*generateContent" }],
    ["a free model", {}, { unit: "usd", prices: { ...prices, local: { input: 0, output: 0 } } }],
    ["tokens", {}, { unit: "tokens" }],
  ])("is not one with %s", async (_, match, meter) => {
    expect(await warningsOf(match, meter)).toEqual([]);
  });
});

describe("a budget that a client can begin anew", () => {
  const meter = { unit: "usd", prices: { default: { input: 15, output: 75 } } };
  const limits = [{ algorithm: "fixed-window", limit: 5, window: "1d" }];
  const run = { name: "run", match: { path: "/v1/*" }, key: ["header:x-session-id", "ip"], meter, limits };
  const warningsOf = async (...others: object[]) => {
    const { mistakes, warnings } = await reportOf(toml({ POLICIES: [run, ...others] }));
    expect(mistakes).toEqual([]);
    return warnings.filter((warning) => warning.includes("budget of its own"));
  };
  const WARNED = [
    "policy run: each new header:x-session-id gets a budget of its own, and a client can make it up: add a policy with a meter that counts the same requests by user, token or address",
  ];

  it.each<[string, ...object[]]>([
    ["alone"],
    ["beside requests by address", { name: "ip", key: ["ip"], limits }],
    ["beside a budget in shadow", { name: "user", key: ["ip"], mode: "shadow", meter, limits }],
    ["beside a budget for other requests", { name: "user", match: { path: "/v1/a" }, key: ["ip"], meter, limits }],
  ])("is warned of %s", async (_, ...others) => {
    expect(await warningsOf(...others)).toEqual(WARNED);
  });

  it("is warned of beside another of its kind, in both", async () => {
    expect(await warningsOf({ ...run, name: "user", key: ["ip+body:user"] })).toHaveLength(2);
  });

  it.each([
    ["address", ["ip"]],
    ["token", ["bearer", "ip"]],
    ["key of the provider", ["header:x-api-key"]],
    ["all together", ["global"]],
  ])("is none inside a budget by %s", async (_, key) => {
    expect(await warningsOf({ name: "user", key, meter, limits })).toEqual([]);
  });
});

describe("the file", () => {
  const JSONC = `{
    // The policies.
    "durable_objects": { "bindings": [{ "name": "COUNTS", "class_name": "HeadgateCounts" }] },
    "vars": { "POLICIES": [{ "name": "api", "limits": [{ "limit": 60, "window": "1m" }] }], /* last */ },
    "env": { "staging": { "vars": { "REGION": "eu" } } },
  }`;

  const MISSING = [{ code: "ERR_POLICIES_MISSING" }, { code: "ERR_COUNTS" }];

  it.each(["wrangler.jsonc", "wrangler.json"])("may be %s, with comments, before wrangler.toml", async (name) => {
    expect(await reportOf({ [name]: JSONC, "wrangler.toml": "" })).toMatchObject({ file: name, mistakes: [] });
    const other = await reportOf({ [name]: JSONC, "other.toml": "" }, "other.toml");
    expect(other).toMatchObject({ file: "other.toml", mistakes: MISSING });
  });

  it("has environments, which inherit no variables", async () => {
    expect(await reportOf({ "wrangler.jsonc": JSONC }, "--env", "staging")).toMatchObject({
      mistakes: MISSING,
      warnings: ["env.staging: an environment does not inherit [vars]. Give it POLICIES and all other variables"],
    });
  });

  describe("over one store", () => {
    const POLICIES = [{ name: "api", limits: [{ limit: 60, window: "1m" }] }];
    const url = "https://one.example.com";
    const ofVars = (own: object, staging: object) => ({
      name: "gate",
      vars: { POLICIES, UPSTASH_REDIS_REST_URL: url, ...own },
      env: { staging: { vars: { POLICIES, UPSTASH_REDIS_REST_URL: url, ...staging } } },
    });
    const object = (script_name?: string) => ({
      bindings: [{ name: "COUNTS", class_name: "HeadgateCounts", script_name }],
    });
    const ofObjects = (script_name?: string) => ({
      ...{ name: "gate", vars: { POLICIES }, durable_objects: object() },
      env: { staging: { vars: { POLICIES }, durable_objects: object(script_name) } },
    });
    const chosen = [["--deployed"], ["--deployed", "--env", "staging"]];

    it.each([
      ["a Redis", ofVars({}, {})],
      ["a node", ofVars({}, { UPSTASH_REDIS_REST_URL: "", REDIS_NODES: [{ name: "a", url: `${url}/`, token: "T" }] })],
      ["an object", ofObjects("gate")],
    ])("refuses two with the same name: %s", async (_, config) => {
      for (const args of chosen) {
        const { mistakes } = await reportOf({ "wrangler.json": JSON.stringify(config) }, ...args);
        const found = "the same NAMESPACE and DEPLOYMENT";
        expect(mistakes).toContainEqual(expect.objectContaining({ code: "ERR_NAMESPACE", path: "NAMESPACE", found }));
      }
    });

    it.each([
      ["another namespace", ofVars({}, { NAMESPACE: "staging" }), 0],
      ["another Redis", ofVars({}, { UPSTASH_REDIS_REST_URL: "https://other.example.com" }), 0],
      ["objects of its own", ofObjects(), 0],
      ["another name, and the same counts: a warning", ofVars({ DEPLOYMENT: "a" }, { DEPLOYMENT: "b" }), 1],
    ])("lets pass %s", async (_, config, warned) => {
      for (const args of chosen) {
        const { mistakes, warnings } = await reportOf({ "wrangler.json": JSON.stringify(config) }, ...args);
        expect(mistakes).not.toContainEqual(expect.objectContaining({ code: "ERR_NAMESPACE" }));
        expect(warnings.filter((one) => one.startsWith("NAMESPACE"))).toHaveLength(warned);
      }
    });
  });

  it.each([
    { vars: 5, env: [], services: "x", durable_objects: [] },
    { vars: { POLICIES: [5, { limits: 5, match: 5, cost: [5] }, { limits: [5], cost: 5 }], REDIS_NODES: [5] } },
    { services: [5, { binding: 5 }], durable_objects: { bindings: [{}, null] }, env: { a: 5 } },
  ])("may hold anything: %j", async (config) => {
    for (const args of [[], ["--deployed"]]) {
      const { configuration, mistakes } = await reportOf({ "wrangler.json": JSON.stringify(config) }, ...args);
      expect([configuration, mistakes.length > 0]).toEqual([null, true]);
    }
  });

  it.each([
    ["wrangler.toml", 'SECRET = "s3cret\n', /^wrangler.toml: expected TOML; .+ \(line 1, column \d+\)$/],
    ["wrangler.jsonc", '{ "SECRET": s3cret }', /^wrangler.jsonc: expected JSON; Unexpected token 's'$/],
    ["wrangler.json", "[]", /^wrangler.json: expected an object$/],
  ])("that cannot be parsed is a mistake, told without its lines: %s", async (name, text, message) => {
    const folder = folderWith({ [name]: text });
    const { status, stdout, stderr } = await headgate(folder, ["check"]);
    expect([status, stdout]).toEqual([1, ""]);
    expect(stderr).not.toContain("s3cret");
    const { mistakes } = await reportOf({ [name]: text });
    expect(mistakes).toEqual([{ message: expect.stringMatching(message) }]);
    expect(await headgate(folder, ["limits"])).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/^headgate: wr/),
    });
  });
});

describe("--deployed", () => {
  const REDIS = { UPSTASH_REDIS_REST_URL: "https://x.upstash.io" };
  const devVars = { ".dev.vars": "UPSTASH_REDIS_REST_URL=redis://wrong\nUPSTASH_REDIS_REST_TOKEN=t\nREGION=?" };

  it("leaves out what is only on this machine", async () => {
    const files = { ...toml({ POLICIES: [POLICY], ...REDIS }), ...devVars };
    expect((await reportOf(files)).mistakes).toHaveLength(2);
    expect(await reportOf(files, "--deployed")).toMatchObject({
      mistakes: [],
      notes: [],
      configuration: { store: { nodes: [{ url: REDIS.UPSTASH_REDIS_REST_URL }] }, region: "by request" },
    });
  });

  it("takes every token for a secret of the deployed Worker, with an address from --var too", async () => {
    const args = ["--deployed", "--var", "UPSTASH_REDIS_REST_URL:https://y.upstash.io"];
    expect(await reportOf(toml({ POLICIES: [POLICY] }), ...args)).toMatchObject({
      configuration: { store: { nodes: [{ token: "(a secret of the deployed Worker)" }] } },
    });
  });

  it("finds the mistakes of the file and of --var", async () => {
    const files = toml({ POLICIES: [POLICY], REGION: "?" });
    expect(await reportOf(files, "--deployed", "--var", "ORIGIN_URL:ftp://x")).toMatchObject({
      mistakes: [{ path: "ORIGIN_URL" }, { path: "REGION" }],
    });
  });
});
