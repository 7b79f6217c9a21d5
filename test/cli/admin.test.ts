import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { NO_SUCH_PATH } from "../../src/kernel/http/reserved.ts";
import { type FakeGateway, startFakeGateway, TOKEN } from "../console/fake-gateway.ts";
import { folderWith, headgate } from "./run.ts";

const CLIENT = "203.0.113.7";

const POLICIES = [
  {
    name: "api",
    key: ["bearer", "ip"],
    limits: [
      { limit: 200, window: "1m" },
      { limit: 900, window: "1h" },
    ],
  },
];

let gateway: FakeGateway;
let env: NodeJS.ProcessEnv;
beforeEach(async () => {
  vi.spyOn(console, "log").mockImplementation(() => {});
  gateway = await startFakeGateway({ policies: POLICIES, stats: "none" });
  onTestFinished(gateway.stop);
  env = { HEADGATE_URL: gateway.url, HEADGATE_TOKEN: TOKEN };
});

const admin = (...args: string[]) => headgate("/", ["admin", ...args], env);
const last = () => gateway.calls.at(-1);
/** The gateway's next answer. */
const answer = (status: number, body: object | string = "", headers: Record<string, string> = {}) => {
  gateway.next = new Response(typeof body === "string" ? body : JSON.stringify(body), { status, headers });
};
const live = async () => JSON.parse((await admin("live", "get")).stdout);

describe("a client of a policy", () => {
  it("counts: a small table, and the answer itself with --json", async () => {
    const { status, stdout, stderr } = await admin("counts", "api", CLIENT);
    expect([status, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(
      /^policy: api\nkind: bearer\nkey: [\w-]{22}\nversion: 0\noverride: null\n\nlimits\nlimit {2}units {2}remaining {2}full again in\napi-1 {2}200 {4}200 {8}0 s\napi-2 {2}900 {4}900 {8}0 s\n\n$/,
    );
    const { stdout: json } = await admin("counts", "api", CLIENT, "--json");
    expect(JSON.parse(json)).toMatchObject({ kind: "bearer", override: null, limits: [{ id: "api-1" }, {}] });
  });

  it("is named in a field, never in a URL", async () => {
    await admin("counts", "api", CLIENT);
    await admin("override", "api", CLIENT, "--factor", "2");
    await admin("block", "api", "192.0.2.1", "--kind", "ip");
    const { overrides } = await live();
    expect(new Set(overrides.map(({ key }: { key: string }) => key)).size).toBe(2);
    expect(await admin("override", "api", CLIENT, "--remove")).toMatchObject({
      stdout: expect.stringMatching(/^version: 3\noverride: null\n/),
    });
    expect((await admin("reset", "api", CLIENT)).stdout).toMatch(/^policy: api\nkind: bearer\nkey: [\w-]{22}\n/);
    expect(gateway.calls).toEqual([
      "GET /counts/api",
      "GET /counts/api",
      "PUT /overrides/api",
      "GET /counts/api?kind=ip",
      "PUT /overrides/api?kind=ip",
      "GET /live",
      "GET /counts/api",
      "DELETE /overrides/api",
      "DELETE /counts/api",
    ]);
  });

  it("may begin with a hyphen, behind --", async () => {
    expect((await admin("block", "api", "--", "-k3y")).status).toBe(0);
    expect(last()).toBe("PUT /overrides/api");
  });

  it("a block stands beside the rest of an override, which holds again when the block is lifted", async () => {
    await admin("override", "api", CLIENT, "--factor", "2", "--note", "a friend");
    await admin("block", "api", CLIENT, "--until", "2h", "--note", "a bot");
    const instant = "\\d{4}-\\d\\d-\\d\\dT[\\d:]+Z";
    const row = `api {5}bearer {2}[\\w-]{22} {2}2 {7}a bot {2}true {3}${instant}\\n`;
    const heading = "\\noverrides\\npolicy +kind +key +factor +note +block +until *\\n";
    expect((await admin("overrides")).stdout).toMatch(new RegExp(heading + row));
    const [{ block: _, ...rest }] = (await live()).overrides;
    expect(rest).toMatchObject({ factor: 2, until: expect.stringMatching(instant), note: "a bot" });
    await admin("unblock", "api", CLIENT);
    expect((await live()).overrides).toEqual([rest]);
  });

  it("a block alone is removed whole", async () => {
    await admin("block", "api", CLIENT, "--note", "a bot");
    expect(await admin("unblock", "api", CLIENT)).toMatchObject({ status: 0 });
    expect(last()).toBe("DELETE /overrides/api");
    expect((await admin("overrides")).stdout).toMatch(/^overrides: \[\]$/m);
  });
});

describe("what another admin has written is not overwritten", () => {
  const blockAs = (client: string) => {
    const headers = { Authorization: `Bearer ${TOKEN}`, "Headgate-Key": client };
    const body = JSON.stringify({ block: true, note: "a bot" });
    return fetch(`${gateway.url}/.headgate/admin/overrides/api`, { method: "PUT", headers, body });
  };
  const put = () => gateway.calls.filter((call) => /^(PUT|DELETE) /.test(call));

  it("override says which override it would replace, and --replace replaces it", async () => {
    await blockAs(CLIENT);
    gateway.calls.length = 0;
    const { status, stdout, stderr } = await admin("override", "api", CLIENT, "--factor", "2");
    expect([status, stdout, put()]).toEqual([1, "", []]);
    expect(stderr).toBe(
      'headgate: nothing was changed: the client has an override. --replace replaces it:\n{"block":true,"note":"a bot"}\n',
    );
    expect(await admin("override", "api", CLIENT, "--factor", "2", "--replace")).toMatchObject({ status: 0 });
    expect((await live()).overrides).toMatchObject([{ factor: 2 }]);
  });

  it.each(["override api 203.0.113.7 --factor 2", "override api 203.0.113.7 --remove", "unblock api 203.0.113.7"])(
    "%s: a change of the same client in between ends it, and shows the new state",
    async (command) => {
      gateway.meanwhile = () => blockAs(CLIENT);
      const { status, stderr } = await admin(...command.split(" "));
      // Its own, and that of somebody else.
      expect([status, put().length]).toEqual([1, 2]);
      expect(stderr).toContain("the gateway answered 412");
      expect(stderr).toMatch(/override: \{.*"block":true,"note":"a bot"\}/);
      expect((await live()).overrides).toMatchObject([{ block: true }]);
    },
  );

  it("a change of another client in between changes nothing", async () => {
    gateway.meanwhile = () => blockAs("192.0.2.1");
    expect(await admin("block", "api", CLIENT)).toMatchObject({ status: 0, stderr: "" });
    expect((await live()).overrides).toHaveLength(2);
  });
});

describe("stats", () => {
  it("a table of requests over all regions, and one of clients", async () => {
    const at = "2026-11-22T10:00:00.000Z";
    const one = { at, policy: "api", region: "eu", outcome: "refused", source: "cache", count: 41 } as const;
    const top = { api: [{ key: "k".repeat(22), refused: 42, where: [] }] };
    const points = [one, { ...one, region: "na", count: 1 }];
    gateway.change = (stats) => ({ ...stats, points, top, heard: at });
    const { status, stdout, stderr } = await admin("stats");
    expect([status, stderr, last()]).toEqual([0, "", "GET /stats?minutes=60"]);
    expect(stdout).toMatch(
      /^heard: 2026-11-22T10:00:00\.000Z\n\nrequests\npolicy {2}outcome {2}source {2}requests\napi {5}refused {2}cache {3}42\n\n\nclients\npolicy {2}key {21}refused\napi {5}[\w-]{22} {2}42\n\n$/,
    );
    const { stdout: json } = await admin("stats", "--minutes", "1440", "--json");
    expect(last()).toBe("GET /stats?minutes=1440");
    expect(JSON.parse(json)).toMatchObject({ step: 60, points: [{ count: 41 }, { count: 1 }] });
  });

  it("of a gateway that has heard nothing", async () => {
    answer(200, { points: [], top: {}, heard: null });
    expect(await admin("stats")).toEqual({ status: 0, stdout: "heard: null\nrequests: []\nclients: []\n", stderr: "" });
  });
});

describe("the live document", () => {
  const liveIn = (folder: string, ...args: string[]) => headgate(folder, ["admin", "live", ...args], env);

  it("goes to a file and back, edited", async () => {
    const folder = folderWith();
    const { stdout: text } = await liveIn(folder, "get");
    expect(JSON.parse(text)).toMatchObject({ version: 0, policies: {}, overrides: [] });
    writeFileSync(
      join(folder, "live.json"),
      text.replace('"policies": {}', '"policies": { "api": { "mode": "shadow" } }'),
    );
    expect(await liveIn(folder, "put", "live.json")).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^version: 1$/m),
      stderr: "",
    });
    expect(await live()).toMatchObject({ version: 1, policies: { api: { mode: "shadow" } } });
  });

  it("is not replaced if somebody else was faster: one call names the version of the file", async () => {
    const folder = folderWith({ "live.json": (await liveIn("/", "get")).stdout, "odd.json": '{"version":"“7”\\n"}' });
    await admin("mode", "api", "shadow");
    gateway.calls.length = 0;
    for (const file of ["live.json", "odd.json"]) {
      const late = await liveIn(folder, "put", file);
      expect([late.status, late.stderr]).toEqual([1, expect.stringContaining("the gateway answered 412\n")]);
    }
    expect(gateway.calls).toEqual(["PUT /live", "PUT /live"]);
    expect(await live()).toMatchObject({ version: 1 });
    expect(await liveIn(folder, "put", "live.json", "--if-match", '"1"')).toMatchObject({ status: 0 });
  });

  it.each([
    ["nothing.json", "nothing.json: expected a file; found nothing with that name"],
    ["text", "text: expected a file with a JSON object"],
    ["list", "list: expected a file with a JSON object"],
  ])("is an object in a file: %s", async (file, says) => {
    const { status, stderr } = await liveIn(folderWith({ text: "live", list: "[]" }), "put", file);
    expect([status, stderr, gateway.calls]).toEqual([2, `headgate: ${says}\n`, []]);
  });
});

describe("what goes wrong ends with 1 and a message", () => {
  it.each([
    [401, { title: "Unauthorized" }, "401\ntitle: Unauthorized\n"],
    [404, { detail: "There is no policy a." }, "404\ndetail: There is no policy a.\n"],
    [404, {}, "404. A gateway without ADMIN_TOKEN has no admin API\n"],
    [404, { detail: NO_SUCH_PATH }, "404. A gateway without ADMIN_TOKEN has no admin API\ndetail: Paths under"],
    [
      422,
      { mistakes: [{ path: "a", expected: "one", found: "0" }] },
      "422\nmistakes\npath  expected  found\na     one       0\n",
    ],
    [503, { detail: "Redis has no answer." }, "503\ndetail: Redis has no answer.\n"],
    [429, {}, "429. Try again in 42 s\n"],
  ])("%i %j", async (status, body, message) => {
    answer(status, body, status === 429 ? { "Retry-After": "42" } : {});
    const { status: code, stdout, stderr } = await admin("counts", "api", CLIENT);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr.startsWith(`headgate: the gateway answered ${message}`)).toBe(true);

    answer(status, body);
    expect(JSON.parse((await admin("counts", "api", CLIENT, "--json")).stdout)).toEqual(body);
  });

  it("nothing in an answer steers the terminal or begins a line of ours, its header fields included", async () => {
    const evil = "x\u001b[2J\r\n::error::forged\u202e\u009b1m";
    const limits = [{ id: evil, limit: 1, remaining: 1, resetAfterMs: 1 }];
    const mistakes = [{ path: evil, expected: evil, found: evil, code: evil }, evil];
    const answers = [
      [422, { detail: evil, mistakes }, { "Retry-After": "\u009b2J" }],
      [200, { policy: evil, kind: evil, key: evil, override: { note: evil }, limits }],
    ] as const;
    for (const [status, body, headers] of answers) {
      for (const options of [[], ["--json"]]) {
        answer(status, body, headers);
        const { stdout, stderr } = await admin("counts", "api", CLIENT, ...options);
        expect((stdout + stderr).replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
        expect((stdout + stderr).split("\n").filter((one) => /^\s*::/.test(one))).toEqual([]);
        if (options.length > 0) expect(JSON.parse(stdout)).toEqual(body);
      }
    }
  });

  it.each<[what: string, given: Parameters<typeof answer>, says: string]>([
    ["text", [200, "<html>"], 'answered 200 without "limits". Is it a gateway?'],
    ["a list", [200, "[]"], 'answered 200 without "limits". Is it a gateway?'],
    ["an error as text", [502, "<html>"], "the gateway answered 502\n"],
    ["a redirect", [302, "", { Location: "https://login.example" }], "the gateway answered 302\n"],
  ])("an answer that is %s", async (_what, given, says) => {
    answer(...given);
    const { status, stdout, stderr } = await admin("counts", "api", CLIENT);
    expect([status, stdout]).toEqual([1, ""]);
    expect(stderr).toContain(says);
    expect(gateway.calls).toHaveLength(1);
  });

  it.each([
    ["counts api 203.0.113.7", "limits"],
    ["reset api 203.0.113.7", "key"],
    ["override api 203.0.113.7 --remove", "override"],
    ["mode api shadow", "version"],
    ["live get", "overrides"],
  ])("the answer of another server to %s", async (command, field) => {
    answer(200, {});
    const { status, stdout, stderr } = await admin(...command.split(" "));
    const { host } = new URL(gateway.url);
    expect([status, stdout]).toEqual([1, ""]);
    expect(stderr).toBe(`headgate: ${host} answered 200 without "${field}". Is it a gateway?\n`);
  });

  it("no answer, and a port that fetch refuses", async () => {
    await gateway.stop();
    const { status, stderr } = await admin("counts", "api", CLIENT);
    expect([status, stderr]).toEqual([1, `headgate: no answer from ${new URL(gateway.url).host}: ECONNREFUSED\n`]);
    const bad = await admin("policies", "--url", "http://127.0.0.1:1");
    expect([bad.status, bad.stderr]).toEqual([1, "headgate: no answer from 127.0.0.1:1: bad port\n"]);
  });
});

describe("misuse ends with 2, and nothing is sent", () => {
  it.each([
    ["counts api 203.0.113.7 --url gateway", "--url: expected an http(s) URL"],
    ["counts api 203.0.113.7 --url https://user:secret@gateway.example", "--url: expected an http(s) URL"],
    ["counts api 203.0.113.7 --token ünicode", "--token: expected letters, digits and signs of ASCII"],
    ["override api 203.0.113.7 --remove --factor 2", "'--remove' cannot be used with option '--factor <number>'"],
    ["override api 203.0.113.7 --limit api-1", "argument 'api-1' is invalid. Expected <limit>=<number>, for example"],
    ["limits api api-1=many", "'api-1=many' is invalid for argument 'limit=number'. Expected <limit>=<number>, for"],
    ["block api 203.0.113.7 --until soon", "option '--until <when>' argument 'soon' is invalid. Expected a duration"],
    // To JavaScript's own parser these are the year 3600, the year 2800, and the 2nd of March.
    ["block api 203.0.113.7 --until 3600", "argument '3600' is invalid. Expected a duration"],
    ["block api 203.0.113.7 --until in-2800", "argument 'in-2800' is invalid. Expected a duration"],
    ["block api 203.0.113.7 --until 2999-02-30", "argument '2999-02-30' is invalid. Expected a duration"],
  ])("%s", async (command, says) => {
    const { status, stdout, stderr } = await admin(...command.split(" "));
    expect([status, stdout, gateway.calls]).toEqual([2, "", []]);
    expect(stderr).toContain(says);
    expect(stderr).not.toContain("secret");
  });

  it("without an address, or without a token", async () => {
    for (const [name, says] of [
      ["HEADGATE_URL", "the gateway's address, as --url or HEADGATE_URL"],
      ["HEADGATE_TOKEN", "the gateway's ADMIN_TOKEN, as HEADGATE_TOKEN or --token"],
    ] as const) {
      const { status, stderr } = await headgate("/", ["admin", "policies"], { ...env, [name]: undefined });
      expect([status, stderr]).toEqual([2, `headgate: expected ${says}\n`]);
    }
  });
});

it("keeps the path of an address, and warns before it sends a token unencrypted", async () => {
  await admin("policies", "--url", `${gateway.url}/behind/`);
  expect(last()).toBe("GET /behind/policies");
  const { stderr } = await admin("policies", "--url", "http://gateway.invalid");
  expect(stderr).toMatch(/^warning: with http:\/\/ everybody on the way can read the token\. Use https:\/\/\n/);
});
