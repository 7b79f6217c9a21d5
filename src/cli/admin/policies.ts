/** `headgate admin` for a whole policy. */

import { Argument, type Command } from "commander";
import { jsonText, line } from "../printable.ts";
import { type Access, callAdmin } from "./api.ts";
import { limitsOf } from "./options.ts";
import { type AdminOptions, addCommand, type Perform } from "./perform.ts";
import { versionText } from "./show.ts";

export function addPolicyCommands(admin: Command, perform: Perform): void {
  const patch = (options: AdminOptions, policy: string, body: object, done: string) => {
    const call = {
      method: "PATCH",
      path: `/policies/${encodeURIComponent(policy)}`,
      body,
      answers: "version",
    } as const;
    return perform(
      options,
      (access: Access) => callAdmin(access, call),
      (answer) => line(`policy ${policy}: ${done}${versionText(answer)}`),
    );
  };

  addCommand(admin, "mode", "enforce a policy, or only try it out")
    .argument("<policy>", "the policy's name")
    .addArgument(new Argument("<mode>", "default: as deployed").choices(["enforce", "shadow", "default"]))
    .action((policy: string, mode: string, options: AdminOptions) =>
      patch(options, policy, { mode: mode === "default" ? null : mode }, `mode ${mode}`),
    );

  addCommand(admin, "limits", "give a policy's limits other numbers, for all clients")
    .argument("<policy>", "the policy's name")
    .argument("<limit=number...>", "for example api-1=200; api-1=default: as deployed")
    .action((policy: string, pairs: string[], options: AdminOptions) =>
      patch(options, policy, { limits: limitsOf(pairs) }, pairs.join(" ")),
    );

  addCommand(admin, "policies", "the policies as they are in force").action((options: AdminOptions) => {
    const call = { method: "GET", path: "/policies", answers: "policies" } as const;
    return perform(options, (access: Access) => callAdmin(access, call), jsonText);
  });
}
