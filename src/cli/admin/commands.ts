/** `headgate admin …`: limits that change while the gateway runs. */

import type { Command } from "commander";
import type { ExitCode, Io } from "../io.ts";
import { addClientCommands } from "./clients.ts";
import { addExplain } from "./explain.ts";
import { addLive } from "./live.ts";
import { performer } from "./perform.ts";
import { addPolicyCommands } from "./policies.ts";
import { addStats } from "./stats.ts";

export function addAdmin(program: Command, io: Io, end: (code: ExitCode) => void): void {
  const admin = program
    .command("admin")
    .description("change limits while the gateway runs, and look up what a client has left")
    .helpCommand(false)
    .addHelpText("after", "\nThe address and the token may stand in HEADGATE_URL and HEADGATE_TOKEN.");

  const perform = performer(io, end);
  addClientCommands(admin, perform);
  addPolicyCommands(admin, perform);
  addStats(admin, perform);
  addLive(admin, perform, io);
  addExplain(admin, perform);
}
