/** `headgate replay`: what configurations would have decided over recorded traffic. */

import { existsSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { type Command, InvalidArgumentError, Option } from "commander";
import { type ExitCode, Failure, type Io, Misuse, systemMessage } from "../io.ts";
import { jsonText, line } from "../printable.ts";
import { CONFIG_FILE, withBindingOptions } from "../wrangler/read-bindings.ts";
import { type ConfigurationOptions, readConfigurations } from "./configurations.ts";
import { replay, type Summary } from "./engine/replay.ts";
import type { Configuration } from "./engine/run.ts";
import { LogError } from "./log/format.ts";
import { FORMAT_NAMES, type LogFacts, openLog } from "./log/open.ts";
import { findFailures, parseFailIf } from "./report/fail-if.ts";
import { renderReport } from "./report/page.ts";
import { terminalProgress } from "./report/progress.ts";
import { textReport } from "./report/text.ts";

const NOTHING = (async function* () {})();

interface ReplayOptions extends ConfigurationOptions {
  readonly log: readonly string[];
  readonly format?: string;
  /** A share, 0 to 1. */
  readonly suggest?: number;
  readonly absent?: readonly string[];
  readonly html?: string;
  readonly json?: boolean;
  readonly failIf?: readonly string[];
  readonly quiet?: boolean;
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
    .description("say what a configuration would have decided over recorded traffic, or another one instead of it")
    .requiredOption("--log <file...>", "logs, also compressed by gzip; - reads the standard input")
    .option("--config <file>", CONFIG_FILE)
    .option("--candidate <file>", "another such file, to compare with; may be given several times", add)
    .option("--candidate-env <name>", "the candidate's environment (default: that of --env)")
    .addOption(new Option("--format <name>", "the logs' format (default: recognized)").choices(FORMAT_NAMES))
    .option("--suggest <percentage>", "suggest numbers that refuse less than this, for example 0.1%", readShare)
    .option(
      "--absent <part>",
      "a part of keys that no request has, for example bearer; may be given several times",
      add,
    )
    .option("--html <file>", "write the report there as a page, with a chart")
    .option("--json", "print one JSON object")
    .option("--fail-if <condition>", "exit with 1 if it holds, for example 'refused > 1%'; several times", add)
    .option("-q, --quiet", "show no progress");
  withBindingOptions(command)
    .addHelpText("after", EXAMPLES)
    .action(async (options: ReplayOptions) => end(await replayCommand(options, io)));
}

async function replayCommand(options: ReplayOptions, io: Io): Promise<ExitCode> {
  const { html } = options;
  // Before a long log is read.
  if (html !== undefined && !existsSync(dirname(resolve(io.cwd, html))))
    throw new Misuse(`--html ${html}: no such folder`);
  const configurations = readConfigurations(options, io);
  const conditions = (options.failIf ?? []).map((text) => parseFailIf(text, configurations.length > 1));
  const { summary, facts } = await replayed(options, configurations, io);
  const failures = conditions.flatMap((one) => findFailures(one, summary, facts.damaged));
  // An empty log must not pass for a good one.
  if (conditions.length > 0 && summary.log.requests === 0) failures.push("the log has no request to judge by");
  if (html !== undefined) writeReport(html, summary, io);
  io.out(options.json ? jsonText(summary) : textReport(summary));
  const unwritten = await io.written?.();
  if (unwritten !== undefined) throw new Failure(`the report could not be written: ${unwritten}`);
  for (const text of failures) io.err(line(`failed: ${text}`));
  for (const text of facts.incomplete) io.err(line(`incomplete: ${text}`));
  return failures.length + facts.incomplete.length > 0 ? 1 : 0;
}

async function replayed(
  { log: files, format, suggest, absent = [], quiet }: ReplayOptions,
  configurations: readonly Configuration[],
  io: Io,
): Promise<{ readonly summary: Summary; readonly facts: LogFacts }> {
  const isShown = io.terminalColumns !== undefined && !quiet;
  const progress = isShown ? terminalProgress(io.draw ?? io.err, io.terminalColumns) : undefined;
  try {
    const log = await openLog(files, format, { cwd: io.cwd, stdin: io.stdin ?? NOTHING });
    const onProgress = (requests: number) => progress?.update(requests, log.facts);
    const summary = await replay({ log, configurations, suggest, absent, onProgress });
    return { summary, facts: log.facts };
  } catch (error) {
    throw error instanceof LogError ? new Failure(error.message) : error;
  } finally {
    progress?.end();
  }
}

function writeReport(file: string, summary: Summary, { cwd }: Io): void {
  try {
    writeFileSync(resolve(cwd, file), renderReport(summary));
  } catch (error) {
    throw new Failure(`--html ${file} could not be written: ${systemMessage(error as Error)}`);
  }
}

function readShare(text: string): number {
  const [, number] = /^(\d+(?:\.\d+)?)\s*%$/.exec(text) ?? [];
  const share = Number(number) / 100;
  if (share > 0 && share < 1) return share;
  throw new InvalidArgumentError("Expected a percentage between 0% and 100%, for example 0.1%.");
}

function add(text: string, before: readonly string[] = []): string[] {
  return [...before, text];
}
