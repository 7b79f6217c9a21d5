// Runs each recipe, each page of docs/start and the first screen of README.md as a reader would: configurations in the
// gateway, Workers in workerd, programs in Node, and commands in a shell. They print what the page says.
//
// How a page is read:
// - A `toml` block with policies is a gateway. Any other `toml` block has the variables of the Worker that follows it.
// - A `ts` block with a default export is a Worker. A block of tests is run by a `sh` block with vitest.
// - Any other `ts` block is a program for Node. It prints the `text` block that follows it, or it serves on `PORT`.
// - A `python` block runs with Python 3, and asks the last of these under localhost.
// - A `sh` block asks the last of these under localhost, and prints the `text` or `json` block that follows it.
// - A page with the headings Gateway and Library has both ways in: what follows them asks each, with the same output.

import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import type { RequestListener } from "node:http";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { parse } from "smol-toml";
import { expect, it, onTestFinished } from "vitest";
import { type Block, blocksOf, commandsOf, FIRST_PAGES, RECIPES, ROOT, read } from "../docs/markdown.ts";
import { printedBy, timeless, withinAMinute } from "../docs/shell.ts";
import { firstOf } from "../support/cases/draws.ts";
import { startGateway } from "../support/gateway/gateway.ts";
import { type OriginServer, startOrigin } from "../support/gateway/origin-server.ts";
import { type Compatibility, startWorkerd } from "../support/gateway/workerd.ts";
import { bundled, ON_NODE, serverOf } from "../support/programs.ts";
import { SURROUNDINGS } from "./surroundings.ts";

const OUTPUT = ["text", "json"];
/** `npm run test:examples` runs such commands: they ask the registry. */
const INSTALLS = /^(?:(?:npm init -y && npm install headgate [\w ]+|npx wrangler dev index\.ts [-\w ]+)\n)+$/;
const LOCAL = /localhost:(?:8787|3000)/g;
/** The commands of packages, as npm scripts find them. */
const IN_NODE = { PATH: `${join(ROOT, "node_modules/.bin")}:${process.env.PATH}` };

interface Wrangler {
  readonly vars?: { readonly POLICIES?: readonly object[] };
}

// `npm test` runs the pages that are read first, `npm run test:long` all of them.
it.each(firstOf(["README.md", ...FIRST_PAGES, ...RECIPES]))("%s does what it says", async (page) => {
  const blocks = page === "README.md" ? blocksOf(page).slice(0, 4) : blocksOf(page);
  const isOutput = ({ language }: Block) => OUTPUT.includes(language);
  const { files } = SURROUNDINGS[basename(page, ".md")] ?? {};
  if (files) return expect(blocks.map(({ text }) => text)).toEqual(expect.arrayContaining(files.map(read)));
  if (page.startsWith("docs/recipes/")) expect(blocks.filter(isOutput), "what it prints").not.toEqual([]);
  const expected = blocks.filter(isOutput).map(({ text }) => timeless(text));
  expect(await withinAMinute(() => printedByPage(page, blocks))).toEqual(expected);
});

const sayHello: RequestListener = (_, response) => response.end("Hello!\n");

async function printedByPage(page: string, blocks: readonly Block[]): Promise<string[]> {
  const { answer = sayHello, more, env = {}, vars } = SURROUNDINGS[basename(page, ".md")] ?? {};
  const origin = await startOrigin(answer);
  more?.(origin.server);
  const secrets = { KEY_SECRET: randomUUID(), ...vars };
  const printed: string[] = [];
  let local = "";
  const isOfBothWays = /^## Gateway$[\s\S]*^## Library$/m.test(read(page));
  /** Where the ways listen that the next question is for. */
  let ways: string[] = [];
  let isAsked = false;
  function listensAt(where: string): void {
    if (isAsked || !isOfBothWays) ways = [];
    ways.push(where);
    [local, isAsked] = [where, false];
  }
  /** What a block prints: the same whichever way is asked. */
  async function printedByEach(ask: (where: string) => Promise<string>): Promise<string> {
    isAsked = true;
    const outputs: string[] = [];
    for (const where of ways) outputs.push(timeless(await ask(where)));
    expect(new Set(outputs).size, "the gateway and the library print the same").toBe(1);
    return outputs[0]!;
  }
  /** A folder with tests. */
  let tests = "";
  let wrangler: Wrangler = {};
  for (const [i, block] of blocks.entries()) {
    const { language, text } = block;
    const isFollowedByOutput = OUTPUT.includes(blocks[i + 1]?.language ?? "");
    if (language === "toml") {
      wrangler = parse(text) as Wrangler;
      if (wrangler.vars?.POLICIES) listensAt(await gatewayOf(wrangler, secrets, origin));
    } else if (language === "ts" && /^export default /m.test(text)) {
      listensAt(await workerOf(text, { ...wrangler.vars, ...secrets }, origin));
    } else if (language === "ts" && text.includes('from "vitest"')) {
      tests = folderOf("index.test.mjs", await bundled(text, { external: ["vitest"] }));
    } else if (language === "ts") {
      // Programs ask it too.
      const runAt = async (run: Run, where: string) => {
        const file = join(folderOf("index.mjs", await bundled(text.replaceAll(LOCAL, where), ON_NODE)), "index.mjs");
        return await run(file, { ...process.env, ...env, ORIGIN: origin.url, API: where });
      };
      if (!isFollowedByOutput) listensAt(await runAt(serverOf, local));
      else if (ways.length === 0) printed.push(timeless(await runAt(outputOf, "")));
      else printed.push(await printedByEach((where) => runAt(outputOf, where)));
    } else if (language === "sh" && local !== "" && text.search(LOCAL) >= 0) {
      const output = await printedByEach((where) =>
        printedBy(
          commandsOf(block).map((command) => command.replaceAll(LOCAL, where)),
          env,
        ),
      );
      if (isFollowedByOutput) printed.push(output);
    } else if (language === "python") {
      const script = (where: string) => `python3 - <<'END'\n${text.replaceAll(LOCAL, where)}END`;
      printed.push(await printedByEach((where) => printedBy([script(where)], env)));
    } else if (language === "sh" && text.startsWith("npx vitest ")) {
      printed.push(timeless(await printedBy(commandsOf(block), { ...IN_NODE, NO_COLOR: "1" }, tests)));
    } else if (!OUTPUT.includes(language) && !INSTALLS.test(text)) {
      expect([language, text], "a block that nothing runs").toEqual([]);
    }
  }
  return printed;
}

/** @returns where it listens, without the scheme. */
async function gatewayOf({ vars }: Wrangler, secrets: object, origin: OriginServer): Promise<string> {
  const { POLICIES = [], ...others } = vars ?? {};
  const gateway = await startGateway({
    policies: POLICIES,
    vars: { ...others, ...secrets },
    network: origin.url,
    redis: null,
    counts: true,
  });
  return gateway.url.host;
}

async function workerOf(text: string, bindings: object, origin: OriginServer): Promise<string> {
  const code = await bundled(text, { conditions: ["workerd", "worker"], external: ["cloudflare:workers", "node:*"] });
  const { port, stop } = await startWorkerd([
    {
      name: "recipe",
      code,
      wrangler: parse(readFileSync(join(ROOT, "wrangler.toml"), "utf8")) as unknown as Compatibility,
      bindings: bindings as Record<string, unknown>,
      network: origin.url,
      ...(text.includes("HeadgateCounts") && { counts: true }),
    },
  ]);
  onTestFinished(stop);
  return `127.0.0.1:${port}`;
}

/** A folder with this file and the packages of the repository, which goes with the test. */
function folderOf(name: string, code: string): string {
  const folder = mkdtempSync(join(tmpdir(), "headgate-recipe-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  writeFileSync(join(folder, name), code);
  return folder;
}

type Run = (file: string, env: NodeJS.ProcessEnv) => Promise<string>;
const outputOf: Run = async (file, env) => (await promisify(execFile)(process.execPath, [file], { env })).stdout;
