import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "smol-toml";
import { describe, expect, it } from "vitest";
import { pricesInto } from "../../src/cli/prices/into-toml.ts";
import { readTable } from "../../src/cli/prices/table.ts";
import { parsePolicies } from "../../src/features/configuration.ts";
import { folderWith, headgate } from "./run.ts";

const TABLE = [
  "model,input,cachedInput,cacheWrite,cacheWrite1h,output,above.200000.input,above.200000.output,tier.flex,call.web_search",
  "claude-*,3,0.3,3.75,6,15,6,22.5,0.5,0.01",
  "gpt-5*,1.25,0.125,,,10",
  "",
  "default,15,,,,75",
].join("\n");
const PRICES = {
  "claude-*": {
    input: 3,
    cachedInput: 0.3,
    cacheWrite: 3.75,
    cacheWrite1h: 6,
    output: 15,
    above: { 200000: { input: 6, output: 22.5 } },
    tier: { flex: 0.5 },
    call: { web_search: 0.01 },
  },
  "gpt-5*": { input: 1.25, cachedInput: 0.125, output: 10 },
  default: { input: 15, output: 75 },
};
const LIMITS = [{ algorithm: "fixed-window", limit: 5, window: "1d" }] as const;

describe("a table", () => {
  it.each([
    ["plain", TABLE],
    ["with a byte order mark and CRLF", `\ufeff${TABLE.replaceAll("\n", "\r\n")}\r\n`],
    ["with empty cells at its ends", `${TABLE.replaceAll("\n", ",,\n")},,\n,,`],
    ["with tabs", TABLE.replaceAll(",", "\t")],
    ["with semicolons", TABLE.replaceAll(",", ";")],
    ["with quotes and spaces", TABLE.replaceAll(/[^,\n]+/g, ' "$&" ')],
    ["as JSON", JSON.stringify(PRICES)],
  ])("is read %s", (_, text) => {
    const prices = readTable(text, "prices");
    expect(prices).toEqual(PRICES);
    const policies = [{ name: "a", limits: LIMITS, meter: { unit: "usd", prices } }];
    expect(parsePolicies(policies, "POLICIES").mistakes).toBeUndefined();
  });

  it("keeps quotes, separators and names as they are", () => {
    const text = 'model,input,output,tier.a.b,tier."c"\n__proto__,1,2,3,\ndefault,"1","2"\n';
    expect(() => readTable(text, "t")).toThrow("found a column");
    const prices = readTable(text.replace(',tier."c"', "").replace("2,3,", "2,3"), "t");
    expect(Object.entries(prices)).toEqual([
      ["__proto__", { input: 1, output: 2, tier: { "a.b": 3 } }],
      ["default", { input: 1, output: 2 }],
    ]);
  });

  const D = "default,1,2";
  it.each<[string, string, ...string[]]>([
    [
      "no number",
      `model,input,output\ngpt,$3,1e9x\n${D}`,
      'row 2 (gpt), column input: expected dollars per million tokens, 0 or more; found "$3"',
      'row 2 (gpt), column output: expected dollars per million tokens, 0 or more; found "1e9x"',
    ],
    [
      "a negative price",
      `model,input,output\n${D}\n\na,-1,2`,
      'row 4 (a), column input: expected dollars per million tokens, 0 or more; found "-1"',
    ],
    [
      "no output",
      `model,input,output\na,1\n${D}`,
      "row 2 (a), column output: expected dollars per million tokens, 0 or more; found nothing",
    ],
    [
      "no default",
      "model,input,output\na,1,2",
      "expected a row for the model default, whose prices all other models have; found none",
    ],
    [
      "a column that is none",
      `model,input,output,note\n${D}`,
      "row 1: expected only the fields input, cachedInput, cacheWrite, cacheWrite1h, output, above, tier, call; found a column note",
    ],
    [
      "a step without input",
      `model,input,output,above.9.output\n${D}`,
      "row 1: expected a column above.9.input; found none",
    ],
    [
      "a step with input in one row only",
      `model,input,output,above.9.input,above.9.output\na,1,2,,3\n${D}`,
      "row 2 (a), column above.9.input: expected dollars per million tokens, 0 or more; found nothing",
    ],
    [
      "a factor of 0",
      `model,input,output,tier.flex\ndefault,1,2,0`,
      'row 2 (default), column tier.flex: expected a factor above 0 and at most 100; found "0"',
    ],
    [
      "a value beside its parts",
      `model,input,output,input.x\n${D}`,
      "row 1: expected dollars per million tokens, 0 or more; found a column input",
    ],
    [
      "no header",
      `gpt,1,2\n${D}`,
      'row 1: expected a column model, and columns such as input, cachedInput, output, above.200000.input, tier.flex; found "gpt,1,2"',
    ],
    ["a column twice", `model,input,output,input\n${D}`, 'row 1: expected each column once; found "input" twice'],
    [
      "a model twice",
      `model,input,output\n${D}\nDefault,1,3`,
      "row 3 (Default): expected each model once; found it in row 2 too",
    ],
    [
      "no model",
      `model,input,output\n${D}\n,1,3`,
      'row 3 (no model): expected models of 1 to 128 letters, digits and * . _ : / @ + -; found ""',
    ],
    ["too many cells", `model,input,output\n${D},3`, "row 2 (default): expected at most 3 cells, as in row 1; found 4"],
    ["a quote without an end", `model,input,output\n"default,1,2\n`, "row 2: expected a second quote; found none"],
    [
      "nothing",
      "",
      'row 1: expected a column model, and columns such as input, cachedInput, output, above.200000.input, tier.flex; found ""',
    ],
    ["JSON that is none", "{", "expected an object of prices by model; found no such JSON"],
    [
      "JSON with mistakes",
      '{"default":{"input":1,"output":2},"a":{"input":"$1","output":2,"x":3}}',
      'a.input: expected dollars per million tokens, 0 or more; found "$1"',
      "a.x: expected only the fields input, cachedInput, cacheWrite, cacheWrite1h, output, above, tier, call; found 3",
    ],
  ])("says where it has %s", (_, text, ...mistakes) => {
    expect(() => readTable(text, "t")).toThrow(["mistakes in t:", ...mistakes].join("\n"));
  });
});

const TOML = `#:schema ./x.json
name = "gate" # a comment

[[vars.POLICIES]]
name = "first"
limits = [{ limit = 1, window = "1m" }]

[[vars.POLICIES]]
name = "dollars"
limits = [{ algorithm = "fixed-window", limit = 5, window = "1d" }]
[vars.POLICIES.meter]
unit = "usd"
# headgate prices: begin
# headgate prices: end

# The last one.
[[vars.POLICIES]]
name = "last"
limits = [{ limit = 1, window = "1m" }]
`;

interface Written {
  readonly vars?: Readonly<Record<string, readonly { readonly meter: object }[]>>;
}

describe("into wrangler.toml", () => {
  it.each([
    ["LF", TOML],
    ["CRLF", TOML.replaceAll("\n", "\r\n")],
    ["an environment", TOML.replaceAll("vars.POLICIES", "env.prod.vars.POLICIES_2")],
    ["indented", TOML.replaceAll("# headgate", "  # headgate")],
    ["the end of the file", TOML.slice(0, TOML.indexOf("\n\n# The last"))],
  ])("nothing but the prices changes: %s", (_, toml) => {
    const { text, before } = pricesInto(toml, PRICES, "wrangler.toml");
    expect(before).toEqual({});
    const again = pricesInto(text, PRICES, "wrangler.toml");
    expect(again).toEqual({ text, before: PRICES });
    const written = text.match(/\[[\w.]+\.meter\.prices\.[\s\S]*(?=\r?\n *# headgate prices: end)/)![0];
    const [head, tail] = text.split(written) as [string, string];
    expect(head + tail.replace(/^\r?\n/, "")).toBe(toml);
    expect(written.includes("\r")).toBe(toml.includes("\r"));
    const { vars, env } = parse(text) as unknown as Written & { readonly env?: { readonly prod: Written } };
    const { POLICIES, POLICIES_2 = POLICIES } = vars ?? env!.prod.vars!;
    expect(POLICIES_2![1]!.meter).toEqual({ unit: "usd", prices: PRICES });
    expect(pricesInto(text, { default: PRICES.default }, "").text.split("\n")).toHaveLength(
      toml.split("\n").length + 3,
    );
  });

  it("each policy with the two comments gets the prices", () => {
    const two = TOML + TOML.slice(TOML.indexOf("[[")).replaceAll("vars.POLICIES", "vars.POLICIES_2");
    const { text, before } = pricesInto(two, PRICES, "wrangler.toml");
    expect(before).toEqual({});
    const { vars } = parse(text) as unknown as Written;
    for (const name of ["POLICIES", "POLICIES_2"]) {
      expect(vars![name]![1]!.meter).toEqual({ unit: "usd", prices: PRICES });
    }
    expect(pricesInto(text, PRICES, "wrangler.toml")).toEqual({ text, before: PRICES });
    // What has changed is said of the place that has changed.
    const cheaper =
      text.slice(0, text.lastIndexOf("input = 15")) + text.slice(text.lastIndexOf("input = 15")).replace("15", "14");
    const { text: again, before: stale } = pricesInto(cheaper, PRICES, "wrangler.toml");
    expect([again, stale.default]).toEqual([text, { input: 14, output: 75 }]);
  });

  it.each([
    ["no comments", TOML.replace("# headgate prices: end", ""), "wrangler.toml has no place for the prices. Write it"],
    ["two comments to begin", `# headgate prices: begin\n${TOML}`, "wrangler.toml has no place for the prices"],
    [
      "two places in one policy",
      TOML.replace("end\n", "end\n# headgate prices: begin\n# headgate prices: end\n"),
      "with the prices it would be no TOML",
    ],
    [
      "no policy above",
      "# headgate prices: begin\n# headgate prices: end\n",
      "expected a policy, [[vars.POLICIES]], above",
    ],
    [
      "fields below",
      TOML.replace("end\n", "end\nmaxOutput = 3\n"),
      "expected a heading in brackets, or nothing, below",
    ],
    ["tokens", TOML.replace('"usd"', '"tokens"'), 'expected unit = "usd" in a table of its own'],
    [
      "a meter in one line",
      TOML.replace('[vars.POLICIES.meter]\nunit = "usd"', 'meter = { unit = "usd" }'),
      "with the prices it would be no TOML",
    ],
    [
      "prices beside",
      TOML.replace('"usd"', '"usd"\nprices = { default = { input = 1, output = 2 } }'),
      "with the prices it would be no TOML",
    ],
  ])("says what to write if there are %s", (_, toml, said) => {
    expect(() => pricesInto(toml, PRICES, "wrangler.toml")).toThrow(said);
  });
});

it("prints the prices, or writes them where they belong and says what has changed", async () => {
  const folder = folderWith({ "prices.csv": TABLE, "wrangler.toml": TOML });
  const file = (name: string) => readFileSync(join(folder, name), "utf8");
  const run = (...args: string[]) => headgate(folder, ["prices", "prices.csv", ...args]);
  expect(JSON.parse((await run()).stdout)).toEqual(PRICES);
  expect(await run("--json")).toEqual(await run());
  expect(await run("--out", "src/prices.json")).toEqual({
    status: 0,
    stdout: "src/prices.json: 3 models, changed:\n  added claude-*\n  added gpt-5*\n  added default\n",
    stderr: "",
  });
  expect(JSON.parse(file("src/prices.json"))).toEqual(PRICES);
  expect((await run("--into", "wrangler.toml")).status).toBe(0);
  expect(await headgate(folder, ["check", "--memory", "--quiet"])).toMatchObject({ status: 0 });
  writeFileSync(
    join(folder, "prices.csv"),
    TABLE.replace("gpt-5*", "gpt-6*").replace("0.01", "").replace(",75", ",80"),
  );
  expect((await run("--into", "wrangler.toml")).stdout).toBe(
    "wrangler.toml: 3 models, changed:\n  added gpt-6*\n  removed gpt-5*\n  claude-*: call.web_search 0.01 -> none\n  default: output 75 -> 80\n",
  );
  expect((await run("--into", "wrangler.toml")).stdout).toBe("wrangler.toml: 3 models, nothing has changed\n");
  expect(JSON.parse((await run("--out", "src/prices.json", "--json")).stdout)).toEqual({
    file: "src/prices.json",
    added: ["gpt-6*"],
    removed: ["gpt-5*"],
    changed: [
      { model: "claude-*", column: "call.web_search", before: 0.01, after: null },
      { model: "default", column: "output", before: 75, after: 80 },
    ],
  });
});

it("writes nothing if something is wrong", async () => {
  const folder = folderWith({ "prices.csv": "model,input,output\na,1,x\n", "wrangler.toml": TOML, "a.json": "{}" });
  const run = (...args: string[]) => headgate(folder, ["prices", ...args]);
  expect(await run("prices.csv", "--into", "wrangler.toml")).toMatchObject({
    status: 1,
    stdout: "",
    stderr: expect.stringMatching(/^headgate: mistakes in prices.csv:\nrow 2 \(a\), column output: .*\n$/),
  });
  expect((await run("none.csv")).status).toBe(2);
  expect((await run("prices.csv", "--out", "a", "--into", "b.toml")).status).toBe(2);
  expect((await run("prices.csv", "--out", "./prices.csv")).status).toBe(2);
  expect((await run("a.json", "--into", "wrangler.jsonc")).status).toBe(1);
  expect(readFileSync(join(folder, "wrangler.toml"), "utf8")).toBe(TOML);
});
