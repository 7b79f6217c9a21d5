/** The configurations that are replayed: wrangler's files, and live documents over them. */

import { existsSync, readFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import { isTable } from "../../config/bindings.ts";
import { describeMistake } from "../../config/mistake.ts";
import { parseSettings, type Settings } from "../../config/settings.ts";
import { checkDocument } from "../../limiter/live/check.ts";
import { type LiveDocument, readLive } from "../../limiter/live/document.ts";
import { Failure, type Io, Misuse } from "../io.ts";
import { line } from "../printable.ts";
import { ConfigFileError, configPathIn } from "../wrangler/config-file.ts";
import { type ReadOptions, readBindings } from "../wrangler/read-bindings.ts";
import type { Configuration } from "./engine/run.ts";

export interface ConfigurationOptions extends ReadOptions {
  readonly config?: string;
  readonly candidate?: readonly string[];
  readonly candidateEnv?: string;
  readonly live?: string;
  readonly candidateLive?: string;
}

/** What is read of one configuration. Undefined: the default. */
interface Named {
  readonly file: string | undefined;
  readonly env: string | undefined;
  readonly live: string | undefined;
}

/**
 * The present configuration, and the candidates if an option names anything of them. What a candidate's options do not
 * say is as in the present one.
 *
 * @throws {Misuse} if there is no such file or environment. @throws {Failure} with every mistake in the files.
 */
export function readConfigurations(options: ConfigurationOptions, io: Io): readonly Configuration[] {
  const { config, env, live, candidate, candidateEnv, candidateLive } = options;
  const present: Named = { file: config, env, live };
  const isCompared = (candidate ?? candidateEnv ?? candidateLive) !== undefined;
  const files = isCompared ? (candidate ?? [config]) : [];
  const others = files.map((file): Named => ({ file, env: candidateEnv ?? env, live: candidateLive ?? live }));
  const all = [present, ...others];
  const notes = new Set<string>();
  const read = all.map((named): Configuration => {
    const settings = settingsOf(named, options, io, notes);
    const name = nameOf(named, all, io);
    if (named.live === undefined) return { name, settings };
    // The present document over a candidate is what happens when the candidate is deployed: what does not fit does
    // nothing, and the replay notes it.
    const isChecked = named === present || candidateLive !== undefined;
    return { name, settings, live: liveIn(named.live, isChecked ? settings : undefined, io) };
  });
  for (const note of notes) io.err(line(`note: ${note}`));
  return read;
}

function settingsOf({ file, env }: Named, options: ReadOptions, io: Io, notes: Set<string>): Settings {
  const { var: vars, envFile } = options;
  const read = { ...(env !== undefined && { env }), ...(vars && { var: vars }), ...(envFile && { envFile }) };
  try {
    const { bindings, notes: ofFile } = readBindings(file, read, io);
    const parsed = parseSettings(bindings);
    if (parsed.mistakes) {
      const where = file ?? "the configuration";
      throw new Failure(`mistakes in ${where}:`, ...parsed.mistakes.map(describeMistake));
    }
    for (const note of ofFile) notes.add(note);
    return parsed.value;
  } catch (error) {
    throw error instanceof ConfigFileError ? new Failure(error.message) : error;
  }
}

/** As the user calls it, with what distinguishes it from the other one. */
function nameOf({ file, env, live }: Named, all: readonly Named[], { cwd }: Io): string {
  const differs = (part: keyof Named) => all.some((one) => one[part] !== all[0]![part]);
  const more = [
    ...(differs("env") ? [`environment ${env ?? "none"}`] : []),
    ...(differs("live") ? [live === undefined ? "no live document" : `live ${live}`] : []),
  ];
  const path = file ?? basename(configPathIn(cwd));
  return more.length > 0 ? `${path} (${more.join(", ")})` : path;
}

/** @param settings undefined: what does not fit them is not looked for. */
function liveIn(file: string, settings: Settings | undefined, { cwd }: Io): LiveDocument {
  const path = resolve(cwd, file);
  if (!existsSync(path)) throw new Misuse(`there is no ${file}`);
  const text = readFileSync(path, "utf8");
  const document = readLive(text);
  if (!document) {
    throw new Failure(`${file}: expected a live document as JSON, as \`headgate admin live get\` prints it`);
  }
  const mistakes = settings ? unexpected(JSON.parse(text), settings) : [];
  if (mistakes.length > 0) throw new Failure(`mistakes in ${file}:`, ...mistakes);
  return document;
}

/** Mistakes, except those in entries of which the gateway itself has said that they do nothing. */
function unexpected(value: unknown, { policies }: Settings): string[] {
  const listed = isTable(value) && Array.isArray(value.ignored) ? value.ignored : [];
  const ignored = listed.filter(isTable).map(({ path }) => path);
  return checkDocument(value, policies)
    .filter(({ path }) => !ignored.some((one) => path === one || path.startsWith(`${one}.`)))
    .map(({ path, expected, found }) => `${path || "the document"}: expected ${expected}; found ${found}`);
}
