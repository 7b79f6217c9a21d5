/** `headgate limits`: what `/.headgate/limits` tells clients, as files, without a running Worker. */

import { join, resolve } from "node:path";
import type { Command } from "commander";
import type { Settings } from "../../kernel/config/settings.ts";
import { describeForOperators, describeLimits } from "../../operate/limits-page/document.ts";
import { contentSecurityPolicy, renderPage } from "../../operate/limits-page/page.ts";
import { writeText } from "../files.ts";
import type { ExitCode, Io } from "../io.ts";
import { jsonText, line } from "../printable.ts";
import { type ReadBindingsOptions, readSettings, withReadOptions } from "../wrangler/read-bindings.ts";
import { limitsMarkdown } from "./markdown.ts";

interface LimitsOptions extends ReadBindingsOptions {
  readonly out: string;
  readonly json?: boolean;
  readonly operators?: boolean;
}

export function addLimits(program: Command, io: Io, end: (code: ExitCode) => void): void {
  withReadOptions(program.command("limits"))
    .description("write the limits for clients as Markdown, HTML and JSON")
    .option("--out <folder>", "where to write limits.md, limits.html and limits.json", "dist/limits")
    .option("--operators", "also say what would help clients to get around the limits: keep the files to yourself")
    .option("--json", "print the JSON, and write no file")
    .action(async (file: string | undefined, options: LimitsOptions) => end(await limits(file, options, io)));
}

async function limits(file: string | undefined, options: LimitsOptions, io: Io): Promise<ExitCode> {
  const files = await limitsFiles(readSettings(file, options, io), options);
  if (options.json) {
    io.out(files["limits.json"]!);
    return 0;
  }
  const folder = resolve(io.cwd, options.out);
  for (const [name, text] of Object.entries(files)) {
    const shown = join(options.out, name);
    writeText(join(folder, name), text, shown);
    io.out(line(shown));
  }
  return 0;
}

/** The text of the three files, by file name. */
async function limitsFiles(
  settings: Settings,
  { operators }: Pick<LimitsOptions, "operators">,
): Promise<Record<string, string>> {
  const document = { ...describeLimits(settings), ...(operators && { operators: describeForOperators(settings) }) };
  return {
    "limits.md": limitsMarkdown(document),
    "limits.html": renderPage(document, { csp: await contentSecurityPolicy(true) }),
    "limits.json": jsonText(document),
  };
}
