// Runs the commands of docs/operate.md as a reader would, against a gateway with the shipped policies and one more, and
// compares what they print with the page.

import { randomUUID } from "node:crypto";
import { parse } from "smol-toml";
import { expect, it, vi } from "vitest";
import { run } from "../../src/cli/program.ts";
import { blocksOf, commandsOf, read } from "../docs/markdown.ts";
import { printedBy, timeless, withinAMinute } from "../docs/shell.ts";
import { ADMIN_TOKEN } from "../support/gateway/admin.ts";
import { startGateway } from "../support/gateway/gateway.ts";

const PAGE = "docs/operate.md";
const SHIPPED = parse(read("wrangler.toml")) as { readonly vars: { readonly POLICIES: object[] } };
/** The page changes the limit of this policy. No request of the page matches it. */
const API = { name: "api", match: { path: "/api/*" }, limits: [{ limit: 60, window: "1m" }] };
/** The gateway's client has the address of the page. */
const CURL = `curl() { command curl -H 'CF-Connecting-IP: 127.0.0.1' "$@"; }`;

/** Without hashes, instants and waits, and columns as wide as these. A refusal is remembered for a moment. */
const steady = (text: string) =>
  timeless(text)
    .replaceAll(/(?<![\w-])[\w-]{22}(?![\w-])/g, "…")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "…")
    .replaceAll(/\b\d+ s\b/g, "… s")
    .replaceAll(/(AfterMs: )\d+/g, "$1…")
    .replaceAll(/(per 1m +0 +)\d+ +\d+/g, "$1…")
    .replace(/source: (?:cache|durable-object)/, "source: …")
    .replaceAll(/ +/g, " ");

const steps = blocksOf(PAGE).flatMap((block, index, blocks) => {
  if (block.language !== "sh" || block.text.startsWith("npx wrangler ")) return [];
  const next = blocks[index + 1];
  return [{ commands: commandsOf(block), output: next?.language === "sh" ? undefined : next?.text }];
});

/** What one command prints. */
async function printedOf(command: string, env: Readonly<Record<string, string>>): Promise<string> {
  const [, args] = /^npx headgate (.*)$/.exec(command) ?? [];
  if (args === undefined) return await printedBy([CURL, command], env);
  // The shell reads the words; the program runs here, because starting it takes a second.
  const words = (await printedBy([CURL, `printf '%s\\n' ${args}`], env)).trimEnd().split("\n");
  let printed = "";
  const out = (text: string) => {
    printed += text;
  };
  const code = await run(words, { cwd: "/", env, out, err: out });
  return code === 0 ? printed : `${printed}exit code ${code} of ${command}\n`;
}

/**
 * What is printed as soon as it is this, or after 10 s. What was counted is handed on within a second of real time: the
 * Worker's own timer wakes it.
 */
async function printedOnce(print: () => Promise<string>, output: string): Promise<string> {
  const printed = vi.waitFor(
    async () => {
      const text = await print();
      expect(steady(text)).toBe(steady(output));
      return text;
    },
    { timeout: 10_000, interval: 100 },
  );
  return await printed.catch(print);
}

it("its commands print what the page says", async () => {
  const [access, ...others] = steps;
  expect(access!.commands).toEqual(["export HEADGATE_URL=http://localhost:8787 HEADGATE_TOKEN=<token>"]);
  const printed = await withinAMinute(async () => {
    const gateway = await startGateway({
      policies: [...SHIPPED.vars.POLICIES, API],
      cf: { continent: "NA" },
      vars: { KEY_SECRET: randomUUID(), ADMIN_TOKEN, EXPLAIN: "on", STATS_FLUSH: "1s" },
      redis: null,
      counts: true,
      stats: true,
    });
    const env = { HEADGATE_URL: gateway.url.origin, HEADGATE_TOKEN: ADMIN_TOKEN };
    const outputs: (string | undefined)[] = [];
    for (const { commands, output } of others) {
      let printed = "";
      for (const command of commands) {
        const print = () => printedOf(command.replaceAll("localhost:8787", gateway.url.host), env);
        printed += command.endsWith(" stats") ? await printedOnce(print, output!) : await print();
      }
      outputs.push(output === undefined ? undefined : steady(printed));
    }
    return outputs;
  });
  expect(printed).toEqual(others.map(({ output }) => (output === undefined ? undefined : steady(output))));
});
