// Runs the guides' commands that ask a gateway in a shell, as a reader would, and compares what they print with the
// guides.

import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { parse } from "smol-toml";
import { expect, it } from "vitest";
import { blocksOf, commandsOf, GUIDES } from "../docs/markdown.ts";
import { ADMIN_TOKEN } from "../support/gateway/admin.ts";
import { type Gateway, startGateway } from "../support/gateway/gateway.ts";

const SHIPPED = parse(readFileSync(new URL("../../wrangler.toml", import.meta.url), "utf8")) as {
  readonly vars: { readonly POLICIES: object[] };
};

/** A gateway in another region with an origin, as docs/deploy.md leaves it. */
const DEPLOYED = { REGION: "eu", ORIGIN_URL: "https://origin.example.com" };
const TO_GATEWAY = /(?:http:\/\/)?localhost:8787|https:\/\/<your host>/g;

const asking = GUIDES.map((page) => {
  const blocks = blocksOf(page);
  const steps = blocks.map((block, index) => ({
    commands: block.language === "sh" ? commandsOf(block).filter((command) => command.match(TO_GATEWAY)) : [],
    output: ["text", "json"].includes(blocks[index + 1]?.language ?? "") ? blocks[index + 1]!.text : "",
  }));
  return { page, steps: steps.filter(({ commands }) => commands.length > 0) };
}).filter(({ steps }) => steps.length > 0);

it("asks in four guides", () => {
  expect(asking.map(({ page }) => page)).toEqual([
    "README.md",
    "docs/deploy.md",
    "docs/limits-page.md",
    "docs/live.md",
  ]);
});

it.each(asking)("$page prints what it says", async ({ page, steps }) => {
  // Units come back when the next minute begins. A run that is not finished by then starts again.
  for (let minute = -1; minute !== minuteNow(); ) {
    minute = minuteNow();
    const vars = { KEY_SECRET: randomUUID(), ...(page === "docs/deploy.md" && DEPLOYED) };
    const options = { policies: SHIPPED.vars.POLICIES, cf: { continent: "NA" } };
    // The live document of the shared Redis is that of every gateway over it.
    const gateway = await startGateway(
      page === "docs/live.md"
        ? { ...options, vars: { ...vars, ADMIN_TOKEN }, redis: null, counts: true }
        : { ...options, vars },
    );
    // As the first deployment leaves it: no Redis, no origin.
    const fresh = { ...options, vars: { KEY_SECRET: randomUUID() }, redis: null, counts: true } as const;
    const printed: string[] = [];
    for (const { commands, output } of steps) {
      const isFresh = output.includes('"store":"durable-object"');
      printed.push(await run(commands, isFresh ? await startGateway(fresh) : gateway));
    }
    if (minute === minuteNow()) expect(printed.map(timeless)).toEqual(steps.map(({ output }) => timeless(output)));
  }
});

const minuteNow = () => Math.floor(Date.now() / 60_000);

async function run(commands: readonly string[], { url }: Gateway): Promise<string> {
  const script = commands.join("\n").replaceAll(TO_GATEWAY, url.origin);
  const { stdout } = await promisify(execFile)("bash", ["-c", script], {
    encoding: "utf8",
    env: { ...process.env, ADMIN_TOKEN },
  });
  // Answers in JSON end without a line break.
  return stdout.replaceAll("\r\n", "\n").replaceAll("}{", "}\n{");
}

/** The text without values that change from one moment to the next. */
function timeless(text: string): string {
  return (
    text
      .replaceAll(
        /(Retry-After: |retry-after-ms: |;t=|X-RateLimit-Reset: |AfterMs":|latencyMs":|Content-Length: |again in )\d+/g,
        "$1…",
      )
      .replaceAll(/seconds?\./g, "seconds.")
      // A wait that begins with the minute is longer than 60 s.
      .replace("X-Should-Retry: false\n", "")
      .replaceAll(/"(key|secret)":"[\w-]{22}"/g, '"$1":"…"')
      .trimEnd()
  );
}
