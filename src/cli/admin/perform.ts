/** How every command of `headgate admin` is made, calls the gateway, and prints the answer. */

import type { Command } from "commander";
import type { ExitCode, Io } from "../io.ts";
import { jsonText } from "../printable.ts";
import { type Access, type Answer, Refused } from "./api.ts";
import { type AccessOptions, accessOf } from "./options.ts";

/** Options of every command here. */
export interface AdminOptions extends AccessOptions {
  readonly json?: boolean;
}

/** Runs a command's calls, and prints the last answer. */
export type Perform = (
  options: AdminOptions,
  calls: (access: Access) => Promise<Answer>,
  text: (body: Answer["body"]) => string,
) => Promise<void>;

/** Adds a command with the options of every command here. */
export function addCommand(admin: Command, name: string, description: string): Command {
  return admin
    .command(name)
    .description(description)
    .option("--url <url>", "the gateway's address (default: HEADGATE_URL)")
    .option("--token <token>", "the gateway's ADMIN_TOKEN (default: HEADGATE_TOKEN, which other users cannot see)")
    .option("--json", "print the gateway's answer as JSON");
}

export function performer(io: Io, end: (code: ExitCode) => void): Perform {
  return async (options, calls, text) => {
    try {
      const { body } = await calls(accessOf(options, io));
      io.out(options.json ? jsonText(body) : text(body));
      end(0);
    } catch (error) {
      if (options.json && error instanceof Refused && error.problem !== undefined) {
        io.out(jsonText(error.problem));
      }
      throw error;
    }
  };
}
