/** The configurations that are replayed: wrangler's files. */

import { basename } from "node:path";
import { describeMistake } from "../../config/mistake.ts";
import { parseSettings, type Settings } from "../../config/settings.ts";
import { Failure, type Io } from "../io.ts";
import { line } from "../printable.ts";
import { ConfigFileError, configPathIn } from "../wrangler/config-file.ts";
import { type ReadOptions, readBindings } from "../wrangler/read-bindings.ts";
import type { Configuration } from "./engine/run.ts";

export interface ConfigurationOptions extends ReadOptions {
  readonly config?: string;
  readonly candidate?: readonly string[];
  readonly candidateEnv?: string;
}

/**
 * The present configuration, and the candidates if an option names anything of them. What a candidate's options do not
 * say is as in the present one.
 *
 * @throws {Misuse} if there is no such file or environment. @throws {Failure} with every mistake in the files.
 */
export function readConfigurations(options: ConfigurationOptions, io: Io): readonly Configuration[] {
  const { config, env, candidate, candidateEnv } = options;
  const candidates = candidate ?? (candidateEnv === undefined ? [] : [config]);
  const all = [{ file: config, env }, ...candidates.map((file) => ({ file, env: candidateEnv ?? env }))];
  const isSameEnv = all.every((one) => one.env === env);
  const notes = new Set<string>();
  const read = all.map((one): Configuration => {
    const path = one.file ?? basename(configPathIn(io.cwd));
    const name = isSameEnv ? path : `${path} (environment ${one.env ?? "none"})`;
    return { name, settings: settingsOf(one, options, io, notes) };
  });
  for (const note of notes) io.err(line(`note: ${note}`));
  return read;
}

interface Named {
  readonly file: string | undefined;
  readonly env: string | undefined;
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
