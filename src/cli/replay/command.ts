/** `headgate replay`: what configurations would have decided over recorded traffic. */

import { existsSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { type Command, InvalidArgumentError, Option } from "commander";
import { writeText } from "../files.ts";
import { type ExitCode, Failure, type Io, Misuse } from "../io.ts";
import { jsonText, line } from "../printable.ts";
import { configPathIn } from "../wrangler/config-file.ts";
import { CONFIG_FILE, type ReadBindingsOptions, readSettings, withBindingOptions } from "../wrangler/read-bindings.ts";
import { replay } from "./engine/replay.ts";
import type { Configuration } from "./engine/run.ts";
import { FORMAT_NAMES, type LogFacts, openLog } from "./log/open.ts";
import { findFailures, parseFailIf } from "./report/fail-if.ts";
import { renderReport } from "./report/page.ts";
import { count, textReport } from "./report/report.ts";

const NOTHING = (async function* () {})();

interface ReplayOptions extends ReadBindingsOptions {
  readonly log: readonly string[];
  readonly config?: string;
  readonly candidate?: readonly string[];
  readonly format?: string;
  /** A share, 0 to 1. */
  readonly suggest?: number;
  readonly html?: string;
  readonly json?: boolean;
  readonly failIf?: readonly string[];
}

const EXAMPLES = `
Examples:
  headgate replay --log logs/*.gz --suggest 0.1% --html report.html
  headgate replay --log access.log --candidate candidate.toml --fail-if 'newly-refused > 0'

Exit code: 0; 1: --fail-if found something, the log is incomplete or cannot be read, a file has mistakes, or the report
could not be written; 2: the command line is wrong.`;

export function addReplay(program: Command, io: Io, end: (code: ExitCode) => void): void {
  const command = program
    .command("replay")
    .description("say what this configuration, or another one, would have decided for recorded traffic")
    .requiredOption("--log <file...>", "logs, also compressed by gzip; - reads the standard input")
    .option("--config <file>", CONFIG_FILE)
    .option("--candidate <file...>", "other such files, to compare with")
    .addOption(new Option("--format <name>", "the logs' format (default: recognized)").choices(FORMAT_NAMES))
    .option("--suggest <percentage>", "suggest numbers that refuse less than this, for example 0.1%", readShare)
    .option("--html <file>", "write the report there as a page, with a chart")
    .option("--json", "print one JSON object")
    .option("--fail-if <condition...>", "exit with 1 if one holds, for example 'refused > 1%'");
  withBindingOptions(command)
    .addHelpText("after", EXAMPLES)
    .action(async (options: ReplayOptions) => end(await replayCommand(options, io)));
}

async function replayCommand(options: ReplayOptions, io: Io): Promise<ExitCode> {
  const { config, candidate = [], html, failIf = [] } = options;
  // Before a long log is read.
  if (html !== undefined && !existsSync(dirname(resolve(io.cwd, html))))
    throw new Misuse(`--html ${html}: no such folder`);
  // The present configuration, and the candidates.
  const configurations = [config, ...candidate].map((file): Configuration => {
    return { name: file ?? basename(configPathIn(io.cwd)), settings: readSettings(file, options, io) };
  });
  const policies = configurations.flatMap(({ settings }) => settings.policies);
  const names = [...new Set(policies.map(({ name }) => name))];
  const conditions = failIf.map((text) => parseFailIf(text, names, configurations.length > 1));

  const { cwd, stdin = NOTHING, terminalColumns = 0, draw = io.err } = io;
  const log = await openLog(options.log, options.format, { cwd, stdin });
  const onProgress = (requests: number) => {
    if (terminalColumns > 0) draw(progressLine(requests, log.facts, terminalColumns));
  };
  const summary = await replay({ log, configurations, suggest: options.suggest, onProgress }).finally(() => {
    if (terminalColumns > 0) draw(CLEAR);
  });
  const failures = conditions.flatMap((one) => findFailures(one, summary));
  // An empty log must not pass for a good one.
  if (conditions.length > 0 && summary.log.requests === 0) failures.push("the log has no request to judge by");
  if (html !== undefined) writeText(resolve(cwd, html), renderReport(summary), `--html ${html}`);
  io.out(options.json ? jsonText(summary) : textReport(summary));
  const unwritten = await io.written?.();
  if (unwritten !== undefined) throw new Failure(`the report could not be written: ${unwritten}`);
  for (const text of failures) io.err(line(`failed: ${text}`));
  for (const text of summary.log.incomplete) io.err(line(`incomplete: ${text}`));
  return failures.length + summary.log.incomplete.length > 0 ? 1 : 0;
}

function readShare(text: string): number {
  const [, number] = /^(\d+(?:\.\d+)?)\s*%$/.exec(text) ?? [];
  const share = Number(number) / 100;
  if (share > 0 && share < 1) return share;
  throw new InvalidArgumentError("Expected a percentage between 0% and 100%, for example 0.1%.");
}

const BAR = 24;
/** Back to the start of the line, and clear it. */
const CLEAR = "\r\x1b[K";

/** How far a replay is, drawn over the line before it. @param columns of the terminal. */
function progressLine(requests: number, { bytes, totalBytes }: LogFacts, columns: number): string {
  const words = `${count(requests)} requests`;
  const done = totalBytes ? Math.min(1, bytes / totalBytes) : 0;
  const filled = Math.round(done * BAR);
  const bar = `${Math.floor(done * 100)} % ${"█".repeat(filled)}${"░".repeat(BAR - filled)} ${words}`;
  // A line as wide as the terminal would wrap, and could not be cleared.
  return CLEAR + (totalBytes ? bar : words).slice(0, columns - 1);
}
