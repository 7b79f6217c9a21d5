/**
 * A newcomer's path, timed: from the tarball and an empty folder to the first 429, by the commands and the programs
 * that the pages show. It must take less than a minute.
 */

import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { askProgram } from "./test-elsewhere.ts";
import { startWranglerDev } from "./wrangler-dev.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const MOST_SECONDS = 60;
const MOST_REQUESTS = 10;

interface Path {
  readonly what: string;
  readonly page: string;
  /**
   * The headings of the sections to follow: a command that installs, files, and a command that starts. Absent: the
   * whole page.
   */
  readonly headings?: readonly string[];
}

const RUNTIMES = "docs/runtimes.md";
export const PATHS: readonly Path[] = [
  { what: "the first page", page: "docs/start/first-429.md" },
  { what: "a Hono app", page: RUNTIMES, headings: ["Hono on Node, Bun and Deno"] },
  { what: "an Express app", page: RUNTIMES, headings: ["Express"] },
  {
    what: "a plain Worker",
    page: "docs/library.md",
    headings: ["Install", "Limit a fetch handler"],
  },
];

/** @param directory an existing folder. @throws if a step fails, or if the path takes a minute. */
export async function testNewcomer(tarball: string, directory: string): Promise<void> {
  for (const [at, path] of PATHS.entries()) {
    const folder = join(directory, `newcomer-${at}`);
    mkdirSync(folder);
    const { commands, files } = stepsOf(path);
    const [install = "", start = ""] = commands;
    const startMs = performance.now();
    // What the registry will have.
    const installed = spawnSync("sh", ["-c", install.replace("npm install headgate", `npm install ${tarball}`)], {
      cwd: folder,
      encoding: "utf8",
    });
    if (installed.status !== 0) throw new Error(`${install} in ${folder}:\n${installed.stdout}${installed.stderr}`);
    for (const [name, text] of files) writeFileSync(join(folder, name), text);
    const requests = await askUntilRefused(folder, start);
    const seconds = (performance.now() - startMs) / 1000;
    console.log(`newcomer, ${path.what}: a 429 to request ${requests}, ${seconds.toFixed(0)} s after the tarball`);
    if (seconds > MOST_SECONDS) throw new Error(`${path.what}: expected less than ${MOST_SECONDS} s`);
  }
}

/** @returns how many requests it took. */
async function askUntilRefused(folder: string, start: string): Promise<number> {
  const untilRefused = async (ask: () => Promise<number>) => {
    const statuses: number[] = [];
    while (statuses.at(-1) !== 429 && statuses.length < MOST_REQUESTS) statuses.push(await ask());
    if (statuses.at(-1) !== 429) throw new Error(`${start}: expected a 429, found ${statuses.join(" ")}`);
    return statuses;
  };
  const [program = "", ...args] = start.split(" ");
  if (program === "node") return (await askProgram(folder, [process.execPath, ...args], {}, untilRefused)).length;
  // `npx wrangler dev …`: what npx would start.
  const wrangler = await startWranglerDev(folder, args.slice(2));
  try {
    return (await untilRefused(async () => (await fetch(wrangler.url)).status)).length;
  } finally {
    await wrangler.stop();
  }
}

/** The first lines of shell blocks, and the files. @throws if the page has no such path any more. */
export function stepsOf({ page, headings }: Path) {
  const whole = readFileSync(join(ROOT, page), "utf8");
  const sections = whole.split(/^## /m);
  const sectionOf = (heading: string) => sections.find((one) => one.startsWith(`${heading}\n`)) ?? "";
  const text = headings ? headings.map(sectionOf).join("") : whole;
  const commands = [...text.matchAll(/^```sh\n(.+)\n/gm)].map(([, command]) => command!);
  // A line above the block names the file, or a comment in its first line does.
  const named = /^`([\w.]+)`:\n\n```\w+\n([\s\S]*?)^```$|^```\w+\n\/\/ ([\w.]+)\n([\s\S]*?)^```$/gm;
  const files = [...text.matchAll(named)].map(
    ([, above, block, inside, rest]) => [above ?? inside!, block ?? rest!] as const,
  );
  if (commands.length < 2 || files.length === 0) {
    throw new Error(`${page}: expected two commands and a file in ${headings?.join(", ") ?? "the page"}`);
  }
  return { commands, files };
}
