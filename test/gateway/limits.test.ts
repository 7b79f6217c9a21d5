// The numbers are the same on the page, in the JSON, in the Markdown and in the header fields.

import { expect, it } from "vitest";
import { limitsFiles } from "../../src/cli/limits/command.ts";
import { parseSettings } from "../../src/features/configuration.ts";
import type { LimitsDocument } from "../../src/operate/limits-page/document.ts";
import { fieldsOf } from "../support/cases/fields.ts";
import { startGateway, uniqueName } from "../support/gateway/gateway.ts";

const HTML = { headers: { Accept: "text/html" } };

const name = uniqueName("told");
const policyOf = (burst: number, limit: number) => ({
  name,
  match: { path: "/v1/*" },
  limits: [
    { algorithm: "token-bucket", limit: burst, window: "1m" },
    { limit, window: "2h", scope: "region" },
  ],
});

it.each([
  [31, 4_321],
  [47, 8_765],
])("a policy of %i per minute and %i per two hours is told as that everywhere", async (burst, limit) => {
  const policies = [policyOf(burst, limit)];
  const gateway = await startGateway({ policies, vars: { REGION: "eu" } });
  const parsed = parseSettings({ POLICIES: policies, REGION: "eu" });
  if (parsed.mistakes) throw new Error("expected no mistakes");
  const files = await limitsFiles(parsed.value);

  const document = (await (await gateway.fetch("/.headgate/limits")).json()) as LimitsDocument;
  const { region, ...published } = document;
  expect(region).toBe("eu");
  expect(JSON.parse(files["limits.json"]!)).toEqual(published);
  const told = document.regions[0]!.policies[0]!.limits.map(({ id, quota, windowMs }) => [id, quota, windowMs! / 1000]);
  expect(told).toEqual([
    [`${name}-1`, burst, 60],
    [`${name}-2`, limit, 7200],
  ]);

  const { policies: sent } = fieldsOf(await gateway.fetch("/v1/x"));
  expect(Object.entries(sent!).map(([id, { q, w }]) => [id, q, w])).toEqual(told);

  const page = await (await gateway.fetch("/.headgate/limits", HTML)).text();
  for (const text of [page, files["limits.html"]!, files["limits.md"]!]) {
    expect(text).toContain(`${burst} per 1m`);
    expect(text).toContain(`${limit} per 2h`);
    const numbers = text.replaceAll("&quot;", '"');
    expect(numbers).toContain(`"${name}-1";q=${burst};w=60, "${name}-2";q=${limit};w=7200`);
    expect(numbers).toContain(`"${name}-1";r=${burst - 1};`);
  }
});
