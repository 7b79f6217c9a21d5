/** `headgate admin` for one client of a policy: its counts, its override, its block. */

import type { Command } from "commander";
import { isTable } from "../../config/bindings.ts";
import { fieldsOf, OVERRIDE_FIELDS, type OverrideFields, withoutBlock } from "../../limiter/live/fields.ts";
import { line } from "../printable.ts";
import { type Access, type Answer, type Call, callAdmin, Refused } from "./api.ts";
import { fieldsIn, optionsOf, overrideIn } from "./fields.ts";
import { type AdminOptions, addCommand, type Perform } from "./perform.ts";
import { countsText, overrideText, versionText } from "./show.ts";

interface ClientOptions extends AdminOptions {
  readonly kind?: string;
  readonly remove?: boolean;
}

/** A client of a policy, as the command line names it. */
interface Client {
  readonly policy: string;
  readonly key: readonly string[];
  readonly kind: string | undefined;
}

export function addClientCommands(admin: Command, perform: Perform): void {
  /** Adds a command about one client of a policy. */
  function add(name: string, description: string, act: (client: Client, options: ClientOptions) => Promise<void>) {
    return addCommand(admin, name, description)
      .argument("<policy>", "the policy's name")
      .argument("<key...>", "the client's raw key, for example an address; one word for each part of a combined key")
      .option("--kind <kind>", "the kind of the key (default: the policy's first kind)")
      .action((policy: string, key: string[], options: ClientOptions) =>
        act({ policy, key, kind: options.kind }, options),
      );
  }

  add("counts", "what each limit holds for a client; charges nothing", (client, options) =>
    perform(options, countsOf(client, "limits"), countsText),
  );

  add("reset", "forget a client's counts", (client, options) =>
    perform(options, { ...countsOf(client, "key"), method: "DELETE" }, () =>
      line(`policy ${client.policy}: the client's counts are reset`),
    ),
  );

  const override = add("override", "give a client other limits, or take them away again", (client, options) =>
    perform(options, changeOf(client, overrideIn(options, Date.now())), overridden(client)),
  );
  for (const option of optionsOf("override")) override.addOption(option);
  override.option("--remove", "remove the client's override, a block too");

  const block = add("block", OVERRIDE_FIELDS.block.help, (client, options) => {
    const added = fieldsIn(options, Date.now());
    const change = (fields: OverrideFields): OverrideFields => ({ ...fields, block: true, ...added });
    return perform(options, (access) => edit(access, client, change), overridden(client));
  });
  for (const option of optionsOf("block")) block.addOption(option);

  add("unblock", "lift a block; the rest of the override holds again", (client, options) =>
    perform(options, (access) => edit(access, client, withoutBlock), overridden(client)),
  );
}

/** Reads a client's override, and replaces it by the changed one. */
async function edit(
  access: Access,
  client: Client,
  change: (fields: OverrideFields) => OverrideFields | undefined,
): Promise<Answer> {
  const { override } = await callAdmin(access, countsOf(client, "override")).then(
    ({ body }) => body,
    overrideInProblem,
  );
  return callAdmin(access, changeOf(client, change(fieldsOf(override) ?? {})));
}

/** The override in the answer that the counts cannot be read. */
function overrideInProblem(error: unknown): { readonly override?: unknown } {
  if (error instanceof Refused && isTable(error.problem) && "override" in error.problem) return error.problem;
  throw error;
}

function countsOf({ policy, key, kind }: Client, answers: string): Call {
  return { method: "GET", path: `/counts/${encodeURIComponent(policy)}`, key, kind, answers };
}

/** A `PUT` replaces the override whole. @param fields undefined: it is removed. */
function changeOf({ policy, key, kind }: Client, fields: OverrideFields | undefined): Call {
  const one = { path: `/overrides/${encodeURIComponent(policy)}`, key, kind, answers: "version" };
  return fields ? { method: "PUT", ...one, body: fields } : { method: "DELETE", ...one };
}

const overridden =
  ({ policy }: Client) =>
  (body: Answer["body"]) =>
    line(`policy ${policy}: override ${overrideText(body.override)}${versionText(body)}`);
