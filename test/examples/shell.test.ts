// Runs the guides' commands that ask a gateway in a shell, as a reader would, and compares what they print with the
// guides.

import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { parse } from "smol-toml";
import { expect, it } from "vitest";
import { blocksOf, commandsOf, GUIDES } from "../docs/markdown.ts";
import { printedBy, timeless, withinAMinute } from "../docs/shell.ts";
import { type Gateway, startGateway } from "../support/gateway/gateway.ts";

const SHIPPED = parse(readFileSync(new URL("../../wrangler.toml", import.meta.url), "utf8")) as {
  readonly vars: { readonly POLICIES: object[] };
};

/** A gateway in another region with an origin, as docs/deploy.md leaves it. */
const DEPLOYED = { REGION: "eu", ORIGIN_URL: "https://origin.example.com" };
const TO_GATEWAY = /(?:http:\/\/)?localhost:8787|https:\/\/<your host>/g;

const asking = [...GUIDES, "docs/clients.md"]
  .map((page) => {
    const blocks = blocksOf(page);
    const steps = blocks.map((block, index) => ({
      commands: block.language === "sh" ? commandsOf(block).filter((command) => command.match(TO_GATEWAY)) : [],
      output: ["text", "json"].includes(blocks[index + 1]?.language ?? "") ? blocks[index + 1]!.text : "",
    }));
    const asked = steps.filter(({ commands }) => commands.length > 0);
    // The first block of the first page asks the app above it: test/recipes runs both.
    return { page, steps: page === "README.md" ? asked.slice(1) : asked };
  })
  .filter(({ steps }) => steps.length > 0);

it("asks in three guides", () => {
  expect(asking.map(({ page }) => page)).toEqual(["README.md", "docs/deploy.md", "docs/clients.md"]);
});

it.each(asking)("$page prints what it says", async ({ page, steps }) => {
  const printed = await withinAMinute(async () => {
    const own = { KEY_SECRET: randomUUID(), ...(page === "docs/deploy.md" && DEPLOYED) };
    const options = { policies: SHIPPED.vars.POLICIES, cf: { continent: "NA" } };
    const gateway = await startGateway({ ...options, vars: own });
    // As the first deployment leaves it: no Redis, no origin.
    const fresh = { ...options, vars: { KEY_SECRET: randomUUID() }, redis: null, counts: true } as const;
    const outputs: string[] = [];
    for (const { commands, output } of steps) {
      const isFresh = output.includes('"store":"durable-object"');
      outputs.push(await run(commands, isFresh ? await startGateway(fresh) : gateway));
    }
    return outputs;
  });
  expect(printed.map(timeless)).toEqual(steps.map(({ output }) => timeless(output)));
});

const run = (commands: readonly string[], { url }: Gateway) =>
  printedBy(
    commands.map((command) => command.replaceAll(TO_GATEWAY, url.origin)),
    {},
  );
