/** `headgate admin …`: limits that change while the gateway runs. */

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { Argument, type Command } from "commander";
import { isTable } from "../../config/bindings.ts";
import { POLICY_ENTRIES } from "../../limiter/live/fields.ts";
import { type ExitCode, Failure, type Io, Misuse } from "../io.ts";
import { jsonText, line } from "../printable.ts";
import { type Access, type Answer, callAdmin } from "./api.ts";
import { addClientCommands } from "./clients.ts";
import { fieldValue, type Given } from "./fields.ts";
import { type AdminOptions, addCommand, isFieldValue, type Perform, performer } from "./perform.ts";
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

const PATH = "/live";
const GET = { method: "GET", path: PATH, answers: "overrides" } as const;

/** The whole live document, to look at, keep and edit. */
function addLive(admin: Command, perform: Perform, io: Io): void {
  const live = admin.command("live").description("the whole live document").helpCommand(false);

  addCommand(live, "get", "print the live document, or write it to a file")
    .option("--out <file>", "write it there")
    .action((options: AdminOptions & { readonly out?: string }) => {
      const { out } = options;
      const calls = async (access: Access) => {
        const answer = await callAdmin(access, GET);
        if (out !== undefined) writeFileSync(resolve(io.cwd, out), jsonText(answer.body));
        return answer;
      };
      return perform(options, calls, (body) =>
        out === undefined ? jsonText(body) : line(`${out} is version ${String(body.version)} of the live document`),
      );
    });

  addCommand(live, "put", "replace the live document by an edited one")
    .argument("<file>", "the document, as `live get` wrote it")
    .option("--if-match <etag>", "the version to replace (default: the one that the file names)")
    .action((file: string, options: AdminOptions & { readonly ifMatch?: string }) => {
      const document = documentIn(file, io);
      if (options.ifMatch !== undefined && !isFieldValue(options.ifMatch)) {
        throw new Misuse(`--if-match: expected an ETag such as '"7"'`);
      }
      const calls = async (access: Access) => {
        const ifMatch = options.ifMatch ?? (await etagOf(document.version, access));
        return callAdmin(access, { method: "PUT", path: PATH, body: document, ifMatch, answers: "version" });
      };
      return perform(options, calls, (body) => `the live document is replaced${versionText(body)}\n`);
    });
}

function documentIn(file: string, { cwd }: Io): Answer["body"] {
  const path = resolve(cwd, file);
  if (!existsSync(path)) throw new Misuse(`there is no ${file}`);
  try {
    const document: unknown = JSON.parse(readFileSync(path, "utf8"));
    if (isTable(document)) return document;
  } catch {
    // The same mistake as a document of another kind.
  }
  throw new Misuse(`${file}: expected a JSON object`);
}

/** The ETag of the version that the file was made from. The PUT fails if the document changes after this look. */
async function etagOf(version: unknown, access: Access): Promise<string> {
  const { body, etag } = await callAdmin(access, GET);
  if (body.version !== version) {
    throw new Failure(
      `the file is of version ${String(version)}, and the gateway has version ${String(body.version)}: ` +
        "somebody else has changed the live document. Get it again, and repeat the change",
    );
  }
  if (etag === null) throw new Failure("the gateway told no ETag: is it of another version?");
  return etag;
}
