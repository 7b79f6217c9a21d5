/** `headgate check`: the configuration as it is understood, or every mistake in it. */

import { basename } from "node:path";
import type { Command } from "commander";
import { unheardWarnings } from "../../features/alerts/warnings.ts";
import { parseSettings, warningsOf, writePolicy } from "../../features/configuration.ts";
import { describeMistake, type Mistake } from "../../kernel/config/mistake.ts";
import type { Bindings, Settings } from "../../kernel/config/settings.ts";
import { parseStore, type StoreSettings } from "../../kernel/config/store.ts";
import { explainWarnings, regionWarnings } from "../../kernel/config/warnings.ts";
import type { ExitCode, Io } from "../io.ts";
import { jsonText, line } from "../printable.ts";
import { ConfigFileError } from "../wrangler/config-file.ts";
import { DEPLOYED_TOKEN, type ReadBindingsOptions, readBindings, withReadOptions } from "../wrangler/read-bindings.ts";
import { suggestionFor } from "./suggest.ts";
import { meterNotes, meterWarnings, sharedStores, surelyWrong } from "./surely-wrong.ts";

interface CheckOptions extends ReadBindingsOptions {
  readonly strict?: boolean;
  readonly quiet?: boolean;
  /** The counts may be in the memory of each isolate. */
  readonly memory?: boolean;
  readonly json?: boolean;
}

export function addCheck(program: Command, io: Io, end: (code: ExitCode) => void): void {
  withReadOptions(program.command("check"))
    .description("print the configuration as the Worker understands it, or every mistake in it")
    .option("--deployed", "as the deployed Worker gets it: without .dev.vars, env files and this environment")
    .option("--memory", "allow no Redis and no Durable Object: each instance counts on its own")
    .option("--strict", "warnings end with exit code 1 too")
    .option("-q, --quiet", "print mistakes and warnings only")
    .option("--json", "print one JSON object: file, configuration, mistakes, warnings, notes")
    .action((file: string | undefined, options: CheckOptions) => end(check(file, options, io)));
}

/** @returns 1 if there are mistakes. @throws {Misuse} if there is no such file or environment. */
export function check(file: string | undefined, options: CheckOptions, io: Io): ExitCode {
  const report = reportOf(file, options, io);
  const { configuration, mistakes, warnings, notes } = report;
  if (options.json) {
    io.out(jsonText(report));
  } else {
    if (mistakes.length > 0) io.err(describeAll(mistakes));
    else if (!options.quiet) io.out(jsonText(configuration));
    for (const warning of warnings) io.err(line(`warning: ${warning}`));
    for (const note of notes) io.err(line(`note: ${note}`));
  }
  return mistakes.length > 0 || (options.strict && warnings.length > 0) ? 1 : 0;
}

/** A file that cannot be parsed has a message alone. */
interface ReportedMistake extends Partial<Mistake> {
  readonly message: string;
  /** What was probably meant. */
  readonly suggestion?: string | undefined;
}

/** The configuration is null if there are mistakes. */
function reportOf(file: string | undefined, options: CheckOptions, io: Io) {
  try {
    const { bindings, notes, ...read } = readBindings(file, options, io);
    const { configPath, environmentName } = read.options;
    const parsed = parseSettings(bindings);
    const shared = sharedStores(read.config, environmentName);
    const inMemory = options.memory ? [] : countsInMemory(bindings);
    const found = [...(parsed.mistakes ?? []), ...shared.mistakes, ...inMemory];
    const mistakes = found.map((mistake): ReportedMistake => {
      return { ...mistake, message: describeMistake(mistake), suggestion: suggestionFor(mistake, bindings) };
    });
    const report = { file: basename(configPath), configuration: null, mistakes, notes };
    const warnings = [...surelyWrong(bindings, read.config, environmentName), ...shared.warnings];
    if (parsed.mistakes) return { ...report, warnings };
    const { policies } = parsed.value;
    warnings.push(...warningsOf(policies), ...meterWarnings(policies), ...regionWarnings(parsed.value));
    // The token, and the URL of a webhook, may be secrets of the deployed Worker, which this file does not show.
    if (!options.deployed) warnings.push(...explainWarnings(parsed.value));
    if (!options.deployed && !parsed.value.isAlerting) warnings.push(...unheardWarnings(policies));
    const configuration = mistakes.length > 0 ? null : effective(parsed.value);
    return { ...report, configuration, warnings, notes: [...notes, ...meterNotes(policies)] };
  } catch (error) {
    if (!(error instanceof ConfigFileError)) throw error;
    const mistakes: ReportedMistake[] = [{ message: error.message }];
    return { file: error.file, configuration: null, mistakes, warnings: [], notes: [] };
  }
}

/** Nothing counts for all isolates: one of them allows each client as much as the next. */
function countsInMemory(bindings: Bindings): Mistake[] {
  const store = parseStore(bindings);
  if (store.mistakes || store.value.redis || store.value.counts) return [];
  const expected =
    "a Durable Object or Redis: without one, each instance counts on its own, and clients get a multiple of their limits (--memory allows it)";
  return [{ code: "ERR_COUNTS", path: "COUNTS", expected, found: "nothing" }];
}

function describeAll(mistakes: readonly ReportedMistake[]): string {
  const count = mistakes.length === 1 ? "1 mistake" : `${mistakes.length} mistakes`;
  const lines = mistakes.flatMap(({ message, suggestion }) => [
    `- ${message}`,
    ...(suggestion === undefined ? [] : [`  Did you mean ${suggestion}?`]),
  ]);
  return [`${count} in the configuration:`, ...lines].map(line).join("");
}

/** The configuration as the Worker understands it: defaults filled in, secrets hidden. */
function effective(settings: Settings): unknown {
  const { policies, redis, counts, origin, region, regions, keySecret, admin, assets, ...rest } = settings;
  const derived = `derived from ${redis ? "the Redis token" : "the id of an object"}`;
  return {
    store: storeOf({ redis, counts }),
    origin: origin.kind === "url" ? { kind: "url", url: origin.url.href } : { kind: origin.kind },
    region: region ?? "by request",
    regions,
    keySecret: keySecret === undefined ? derived : "(hidden)",
    ...rest,
    admin: admin ? { ...admin, ...(admin.token !== undefined && { token: "(hidden)" }) } : "none",
    console: admin && assets ? "/.headgate/console" : "none",
    policies: policies.map(writePolicy),
  };
}

function storeOf({ redis, counts }: StoreSettings): unknown {
  if (redis) {
    const token = (of: string) => (of === DEPLOYED_TOKEN ? "(a secret of the deployed Worker)" : "(hidden)");
    return { kind: "redis", ...redis, nodes: redis.nodes.map((node) => ({ ...node, token: token(node.token) })) };
  }
  if (!counts) return { kind: "memory" };
  const { namespace: _, ...shown } = counts;
  return { kind: "durable-object", ...shown };
}
