/**
 * `npm run docs:limits [-- --out FOLDER --origin URL --env NAME --var NAME:VALUE …]`: writes the limits of
 * `/.headgate/limits` from wrangler.toml, as Markdown, HTML and JSON, without a running Worker. Exit status 1 if the
 * configuration has mistakes.
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describeMistake } from "../../src/config/mistake.ts";
import { parseSettings, type Settings } from "../../src/config/settings.ts";
import { describeLimits } from "../../src/http/limits/document.ts";
import { readBindings } from "../dev/read-bindings.ts";
import { optionValues } from "../dev/wrangler-bindings.ts";
import { limitsMarkdown } from "./limits-markdown.ts";
import { loadLimitsPage } from "./limits-page.ts";

/** The text of the three files, by file name. @param origin where clients send their requests. */
export async function limitsFiles(settings: Settings, origin: string): Promise<Record<string, string>> {
  const document = describeLimits(settings);
  const { contentSecurityPolicy, renderPage } = await loadLimitsPage();
  return {
    "limits.md": limitsMarkdown(document, origin),
    "limits.html": renderPage(document, origin, { csp: await contentSecurityPolicy(true) }),
    "limits.json": `${JSON.stringify(document, null, 2)}\n`,
  };
}

if (import.meta.main) {
  try {
    const args = process.argv.slice(2);
    const [folder = "dist/limits"] = optionValues(args, "--out");
    const [origin = "https://api.example.com"] = optionValues(args, "--origin");
    const parsed = parseSettings(readBindings(args));
    if (parsed.mistakes)
      throw new Error(`mistakes in the configuration:\n${parsed.mistakes.map(describeMistake).join("\n")}`);
    mkdirSync(folder, { recursive: true });
    for (const [name, text] of Object.entries(await limitsFiles(parsed.value, origin))) {
      writeFileSync(join(folder, name), text);
      console.log(join(folder, name));
    }
  } catch (error) {
    console.error(`docs:limits: ${(error as Error).message}`);
    process.exitCode = 1;
  }
}
