/** The commands of `npx headgate`, and what their ends mean for the exit code. */

import { Command, CommanderError } from "commander";
import { VERSION } from "../kernel/version.ts";
import { addAdmin } from "./admin/commands.ts";
import { addCheck } from "./check/command.ts";
import { addDoctor } from "./doctor/command.ts";
import { addInit } from "./init/command.ts";
import { type ExitCode, Failure, type Io, Misuse } from "./io.ts";
import { addLimits } from "./limits/command.ts";
import { addPrices } from "./prices/command.ts";
import { cleaned, line } from "./printable.ts";
import { addReplay } from "./replay/command.ts";

/**
 * @param args without the program's own name. @param terminal gets nothing that would steer it, except what `draw`
 * writes.
 */
export async function run(args: readonly string[], terminal: Io): Promise<ExitCode> {
  const io = cleaned(terminal);
  let exitCode: ExitCode = 0;
  const program = new Command("headgate")
    .description("The command line of headgate, an edge rate limiter.")
    .version(VERSION)
    .helpCommand(false)
    // Commands inherit both settings: they must be made before the commands.
    .exitOverride()
    .configureOutput({ writeOut: io.out, writeErr: io.err, outputError: (text, write) => write(misuseText(text)) })
    .addHelpText("after", "\nExit code: 0, 1 (something was found, or failed) or 2 (the command line is wrong).");
  const end = (code: ExitCode) => {
    exitCode = code;
  };
  for (const add of [addInit, addCheck, addLimits, addPrices, addReplay, addDoctor, addAdmin]) add(program, io, end);

  try {
    await program.parseAsync(args, { from: "user" });
    return exitCode;
  } catch (error) {
    // commander has written its message.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (!(error instanceof Failure)) throw error;
    const [first, ...others] = error.lines;
    io.err([`headgate: ${first}`, ...others].map(line).join(""));
    return error instanceof Misuse ? 2 : 1;
  }
}

/** commander's message about an argument, and its hint on a line of its own. The argument may hold line breaks. */
function misuseText(text: string): string {
  const [, message = text, hint] = /^(.*?)(?:\n(\(Did you mean [^)]*\)))?\n*$/s.exec(text) ?? [];
  return [message, ...(hint === undefined ? [] : [hint])].map(line).join("");
}
