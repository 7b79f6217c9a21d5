/** `headgate admin …`: limits that change while the gateway runs. */

import { Argument, type Command } from "commander";
import { POLICY_ENTRIES } from "../../limiter/live/fields.ts";
import { type ExitCode, type Io, Misuse } from "../io.ts";
import { jsonText, line } from "../printable.ts";
import { addClientCommands } from "./clients.ts";
import { fieldValue, type Given } from "./fields.ts";
import { addLive } from "./live.ts";
import { type AdminOptions, addCommand, type Perform, performer } from "./perform.ts";
import { explanationText, overridesText, statsText, versionText } from "./show.ts";

const MAX_MINUTES = 43_200;

export function addAdmin(program: Command, io: Io, end: (code: ExitCode) => void): void {
  const admin = program
    .command("admin")
    .description("change limits while the gateway runs, and look up what a client has left")
    .helpCommand(false)
    .addHelpText("after", "\nThe address and the token may stand in HEADGATE_URL and HEADGATE_TOKEN.");
  const perform = performer(io, end);

  addClientCommands(admin, perform);

  addCommand(admin, "overrides", "list all overrides").action((options: AdminOptions) =>
    perform(options, { method: "GET", path: "/overrides", answers: "overrides" }, overridesText),
  );

  addPolicyCommands(admin, perform);

  addCommand(admin, "policies", "the policies as they are in force").action((options: AdminOptions) =>
    perform(options, { method: "GET", path: "/policies", answers: "policies" }, jsonText),
  );

  addCommand(admin, "stats", "requests by policy and outcome, and the clients with most refusals")
    .option("--minutes <number>", `the last minutes: 1 to ${MAX_MINUTES}, which is 30 days`, "60")
    .action((options: AdminOptions & { readonly minutes: string }) => {
      const minutes = /^\d{1,5}$/.test(options.minutes) ? Number(options.minutes) : 0;
      if (minutes < 1 || minutes > MAX_MINUTES) {
        throw new Misuse(`--minutes: expected an integer from 1 to ${MAX_MINUTES}`);
      }
      const search = { minutes: String(minutes) };
      return perform(options, { method: "GET", path: "/stats", search, answers: "points" }, statsText);
    });

  addLive(admin, perform, io);

  addCommand(admin, "explain", "why a request was refused")
    .argument("<token>", "the field Headgate-Explain of the refusal, at most 10 minutes old")
    .action((token: string, options: AdminOptions) => {
      if (!/^[\w-]+$/.test(token)) throw new Misuse("expected the value of Headgate-Explain: letters, digits, _ and -");
      const search = { token };
      return perform(options, { method: "GET", path: "/explain", search, answers: "limits" }, explanationText);
    });
}

/** A command for each field that the live document changes for all clients of a policy. `default`: as deployed. */
function addPolicyCommands(admin: Command, perform: Perform): void {
  for (const [name, field] of POLICY_ENTRIES) {
    const argument =
      field.is === "numbers"
        ? new Argument("<limit=number...>", "for example api-1=200; api-1=default: as deployed")
        : new Argument(`<${name}>`, "default: as deployed");
    if (field.is === "choice") argument.choices([...field.of, "default"]);
    addCommand(admin, name, field.help)
      .argument("<policy>", "the policy's name")
      .addArgument(argument)
      .action((policy: string, given: Given, options: AdminOptions) => {
        const body = { [name]: given === "default" ? null : fieldValue(field, given, name, Date.now()) };
        const done = Array.isArray(given) ? given.join(" ") : `${name} ${given}`;
        const path = `/policies/${encodeURIComponent(policy)}`;
        return perform(options, { method: "PATCH", path, body, answers: "version" }, (answer) =>
          line(`policy ${policy}: ${done}${versionText(answer)}`),
        );
      });
  }
}
