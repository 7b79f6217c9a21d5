/** `headgate admin` for one client of a policy: its counts, its override, its block. */

import type { Command } from "commander";
import { isTable } from "../../config/bindings.ts";
import { line } from "../printable.ts";
import { type Access, type Answer, type Call, callAdmin, Refused } from "./api.ts";
import { untilOf } from "./options.ts";
import { changesOf, type OverrideOptions, withBlock, withoutBlock } from "./override.ts";
import { type AdminOptions, addCommand, type Perform } from "./perform.ts";
import { countsText, overridesText, overrideText, versionText } from "./show.ts";

interface ClientOptions extends AdminOptions {
  readonly kind?: string;
}

/** Adds a command about one client of a policy. */
function addClientCommand(admin: Command, name: string, description: string): Command {
  return addCommand(admin, name, description)
    .argument("<policy>", "the policy's name")
    .argument("<key...>", "the client's raw key, for example an address; one word for each part of a combined key")
    .option("--kind <kind>", "the kind of the key (default: the policy's first kind)");
}

/** @param table `counts` or `overrides`. */
function client(table: string, policy: string, key: readonly string[], { kind }: ClientOptions) {
  return { path: `/${table}/${encodeURIComponent(policy)}`, key, kind };
}

export function addClientCommands(admin: Command, perform: Perform): void {
  addClientCommand(admin, "counts", "what each limit holds for a client; charges nothing").action(
    (policy: string, key: string[], options: ClientOptions) => {
      const one = client("counts", policy, key, options);
      return perform(options, (access) => callAdmin(access, { method: "GET", ...one, answers: "limits" }), countsText);
    },
  );

  addClientCommand(admin, "reset", "forget a client's counts").action(
    (policy: string, key: string[], options: ClientOptions) => {
      const one = client("counts", policy, key, options);
      const call = (access: Access) => callAdmin(access, { method: "DELETE", ...one, answers: "key" });
      return perform(options, call, () => line(`policy ${policy}: the client's counts are reset`));
    },
  );

  addClientCommand(admin, "override", "give a client other limits, or take them away again")
    .option("--limit <limit=number>", "another number for one limit; may be given several times", collect)
    .option("--factor <number>", "multiply all limits")
    .option("--plan <name>", "the limits of a plan")
    .option("--exempt", "no limits")
    .option("--until <when>", 'when it ends: a duration such as "2h", or an instant')
    .option("--note <text>", "why")
    .option("--remove", "remove the client's override, a block too")
    .action((policy: string, key: string[], options: ClientOptions & OverrideOptions) => {
      const one = client("overrides", policy, key, options);
      const body = changesOf(options, Date.now());
      return perform(options, (access) => callAdmin(access, changeOf(one, body)), overridden(policy));
    });

  addClientCommand(admin, "block", "answer a client 403")
    .option("--until <when>", 'when it ends: a duration such as "2h", or an instant')
    .option("--note <text>", "why")
    .action((policy: string, key: string[], options: ClientOptions & OverrideOptions) => {
      const { until, note } = options;
      const block = {
        ...(until !== undefined && { until: untilOf(until, Date.now()) }),
        ...(note !== undefined && { note }),
      };
      return perform(options, (access) => edit(access, policy, key, options, withBlock(block)), overridden(policy));
    });

  addClientCommand(admin, "unblock", "lift a block; the rest of the override holds again").action(
    (policy: string, key: string[], options: ClientOptions) =>
      perform(options, (access) => edit(access, policy, key, options, withoutBlock), overridden(policy)),
  );

  addCommand(admin, "overrides", "list all overrides").action((options: AdminOptions) =>
    perform(
      options,
      (access) => callAdmin(access, { method: "GET", path: "/overrides", answers: "overrides" }),
      overridesText,
    ),
  );
}

/** Reads a client's override, and replaces it by the changed one. */
async function edit(
  access: Access,
  policy: string,
  key: readonly string[],
  options: ClientOptions,
  change: (override: unknown) => object | undefined,
): Promise<Answer> {
  const counts = client("counts", policy, key, options);
  const call = { method: "GET", ...counts, answers: "override" } as const;
  const { override } = await callAdmin(access, call).then(({ body }) => body, overrideIn);
  return callAdmin(access, changeOf(client("overrides", policy, key, options), change(override)));
}

/** The override in the answer that the counts cannot be read. */
function overrideIn(error: unknown): { readonly override?: unknown } {
  if (error instanceof Refused && isTable(error.problem) && "override" in error.problem) return error.problem;
  throw error;
}

/** @param override undefined: it is removed. */
function changeOf(one: ReturnType<typeof client>, override: object | undefined): Call {
  const answers = "version";
  return override ? { method: "PUT", ...one, body: override, answers } : { method: "DELETE", ...one, answers };
}

const overridden = (policy: string) => (body: Answer["body"]) =>
  line(`policy ${policy}: override ${overrideText(body.override)}${versionText(body)}`);

function collect(value: string, before: readonly string[] = []): string[] {
  return [...before, value];
}
