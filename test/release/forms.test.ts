// The forms for issues, as far as GitHub would refuse them, and what updates dependencies.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { parse } from "yaml";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string) => parse(readFileSync(join(ROOT, ".github", path), "utf8")) as unknown;
const FORMS = readdirSync(join(ROOT, ".github/ISSUE_TEMPLATE")).filter((name) => name !== "config.yml");

interface Field {
  readonly type: string;
  readonly id?: string;
  readonly attributes: { readonly label?: string; readonly value?: string; readonly options?: readonly string[] };
}

it.each(FORMS)("%s has fields that GitHub knows, each with an id of its own", (name) => {
  const form = read(`ISSUE_TEMPLATE/${name}`) as { name: string; description: string; body: readonly Field[] };
  expect([form.name, form.description]).toEqual([expect.any(String), expect.any(String)]);
  const asked = form.body.filter(({ type }) => type !== "markdown");
  for (const { type, attributes } of asked) {
    expect(["textarea", "input", "dropdown"]).toContain(type);
    expect(attributes.label).toMatch(/\S/);
    const options = attributes.options ?? [];
    expect(options.length > 1, attributes.label).toBe(type === "dropdown");
    expect(new Set(options).size).toBe(options.length);
  }
  const ids = asked.map(({ id }) => id);
  expect(ids).toEqual([...new Set(ids)]);
  expect(ids).not.toContain(undefined);
});

it("updates packages and actions in folders that there are", () => {
  const { updates } = read("dependabot.yml") as { updates: { "package-ecosystem": string; directory: string }[] };
  expect(updates.map((one) => one["package-ecosystem"])).toEqual(["npm", "github-actions"]);
  for (const { directory } of updates) expect(existsSync(join(ROOT, directory))).toBe(true);
});
