// Every field of the live document through every door: check, reading, applying, admin API, command line, documents.
// Its doors in the console are in test/console/console.test.ts. A field that one of them drops fails.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { applyLive } from "../../../src/features/live/apply.ts";
import { readLive } from "../../../src/features/live/document.ts";
import { OVERRIDE_ENTRIES, POLICY_ENTRIES } from "../../../src/features/live/fields.ts";
import { viewOf } from "../../../src/features/live/view.ts";
import { numbersOf } from "../../../src/kernel/limiter/numbers.ts";
import { headgate } from "../../cli/run.ts";
import { type FakeGateway, startFakeGateway, TOKEN } from "../../console/fake-gateway.ts";
import { POLICIES as INPUT } from "../../console/policies.ts";
import { read } from "../../docs/markdown.ts";
import { sampleOf } from "./field-samples.ts";
import { ANN, checkedPolicies } from "./policies.ts";

const POLICIES = checkedPolicies(INPUT);
const API = POLICIES.find(({ name }) => name === "api")!;
const PAGE = read("docs/operate.md");
const NOW_MS = Date.parse("2026-11-22T12:00:00Z");

let gateway: FakeGateway;
beforeAll(async () => {
  gateway = await startFakeGateway();
});
afterAll(() => gateway.stop());

type Json = Readonly<Record<string, unknown>>;

/** A call of the admin API. @param key of the client; empty: none is named. */
async function call(method: string, path: string, key = "", body?: object): Promise<Json> {
  const headers = { Authorization: `Bearer ${TOKEN}`, ...(key && { "Headgate-Key": key }) };
  const answer = await fetch(`${gateway.url}/.headgate/admin${path}`, {
    method,
    headers,
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: answer.status, ...((await answer.json()) as Json) };
}

/** The override of a client, as the gateway holds it. */
const overrideOf = async (key: string) => (await call("GET", "/counts/api", key)).override;

async function admin(...args: string[]): Promise<string> {
  const env = { HEADGATE_URL: gateway.url, HEADGATE_TOKEN: TOKEN };
  const { status, stdout, stderr } = await headgate("/", ["admin", ...args], env);
  expect([status, stderr]).toEqual([0, ""]);
  return stdout;
}

/** The document as a store keeps it, over the running configuration. */
function viewWith(document: object) {
  return viewOf(1, readLive(JSON.stringify({ policies: {}, overrides: [], ...document }))!, POLICIES, "own");
}

function inForce(document: object) {
  const take = { policy: API, kind: "bearer", partition: ANN, cost: 1 };
  const { applied, blocked } = applyLive(viewWith(document), [take], NOW_MS, numbersOf(POLICIES));
  return { policies: applied.map(({ policy }) => policy), blocked };
}

describe.each(OVERRIDE_ENTRIES)("of an override, %s", (name, field) => {
  const { value, wrong } = sampleOf(field);
  /** What stands beside an effect needs one. */
  const beside = field.isEffect ? {} : { exempt: true };
  const override = { ...beside, [name]: value };

  it("holds when it is read, and an effect changes what applies", () => {
    const overrides = [{ policy: "api", kind: "bearer", key: ANN, ...override }];
    expect(viewWith({ overrides }).client("api", ANN, NOW_MS)?.override).toMatchObject(override);
    if (field.isEffect) expect(inForce({ overrides })).not.toEqual(inForce({}));
  });

  it("passes the admin API", async () => {
    const key = `api-${name}`;
    expect(await call("PUT", "/overrides/api", key, override)).toMatchObject({ status: 200, override });
    expect(await overrideOf(key)).toMatchObject(override);
    const { overrides } = await call("GET", "/live");
    expect(overrides).toContainEqual(expect.objectContaining(override));
    const refused = await call("PUT", "/overrides/api", key, { ...override, [name]: wrong });
    expect(refused).toMatchObject({ status: 422, mistakes: [{ path: expect.stringMatching(`^${name}`) }] });
  });

  it("is in docs/operate.md, with its option", () => {
    expect(PAGE).toMatch(new RegExp(`\`${name}[\`:]`));
    expect(PAGE).toContain(field.option?.split(" ")[0] ?? `headgate admin ${name} `);
  });
});

/** An option and its value, as somebody types them. */
const optionOf = (field: (typeof OVERRIDE_ENTRIES)[number][1]) => [
  field.option!.split(" ")[0]!,
  ...sampleOf(field).words,
];
const OPTIONS = OVERRIDE_ENTRIES.filter(([, { option }]) => option !== undefined);

it.each(OPTIONS)(
  "of an override, %s is an option, and stays beside a block that comes and goes",
  async (name, field) => {
    const key = `cli-${name}`;
    const { value } = sampleOf(field);
    await admin("override", "api", key, ...optionOf(field), ...(field.isEffect ? [] : ["--exempt"]));
    expect(await overrideOf(key)).toMatchObject({ [name]: value });
    await admin("block", "api", key);
    expect(await overrideOf(key)).toMatchObject({ [name]: value, block: true });
    await admin("unblock", "api", key);
    expect(await overrideOf(key)).toMatchObject({ [name]: value });
    expect(await overrideOf(key)).not.toHaveProperty("block");
  },
);

it.each(OPTIONS.filter(([, { isEffect }]) => !isEffect))("of a block, %s is an option", async (name, field) => {
  await admin("block", "api", `block-${name}`, ...optionOf(field));
  expect(await overrideOf(`block-${name}`)).toMatchObject({ block: true, [name]: sampleOf(field).value });
});

it("a field without an option has a command of its own", async () => {
  const others = OVERRIDE_ENTRIES.filter(([, { option }]) => option === undefined);
  expect(others.map(([name]) => name)).toEqual(["block"]);
});

describe.each(POLICY_ENTRIES)("of a policy, %s", (name, field) => {
  const { value, words, wrong } = sampleOf(field);
  const inPolicies = async () => {
    const { policies } = (await call("GET", "/policies")) as { policies: { name: string; live: Json | null }[] };
    return policies.find((policy) => policy.name === "api")!.live;
  };

  it("changes what applies", () => {
    const policies = { api: { [name]: value } };
    expect(viewWith({ policies }).ignored).toEqual([]);
    expect(inForce({ policies })).not.toEqual(inForce({}));
  });

  it("passes the admin API, and null undoes it", async () => {
    await call("PATCH", "/policies/api", "", { [name]: value });
    expect(await inPolicies()).toMatchObject({ [name]: value });
    const refused = await call("PATCH", "/policies/api", "", { [name]: wrong });
    expect(refused).toMatchObject({ status: 422, mistakes: [{ path: expect.stringMatching(`^${name}`) }] });
    await call("PATCH", "/policies/api", "", { [name]: null });
    expect((await inPolicies()) ?? {}).not.toHaveProperty(name);
  });

  it("is a command, and default undoes it", async () => {
    await admin(name, "api", ...words);
    expect(await inPolicies()).toMatchObject({ [name]: value });
    await admin(name, "api", field.is === "numbers" ? words[0]!.replace(/=.*/, "=default") : "default");
    expect((await inPolicies()) ?? {}).not.toHaveProperty(name);
  });

  it("is in docs/operate.md, with its command", () => {
    expect(PAGE).toMatch(new RegExp(`^\\| a policy \\| \`${name}\` \\|`, "m"));
    expect(PAGE).toContain(`headgate admin ${name} `);
  });
});
