/** `headgate admin …`: limits that change while the gateway runs. Each command is a row of one table. */

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { Argument, type Command, Option } from "commander";
import { isTable } from "../../config/bindings.ts";
import {
  fieldsOf,
  OVERRIDE_FIELDS,
  type OverrideFields,
  POLICY_ENTRIES,
  withoutBlock,
} from "../../limiter/live/fields.ts";
import { type ExitCode, Failure, type Io, Misuse } from "../io.ts";
import { jsonText, line } from "../printable.ts";
import { type Access, type Answer, accessOf, type Body, type Call, callAdmin, isFieldValue, Refused } from "./api.ts";
import { anyText, countsText, overridesText, overrideText, statsText, versionText } from "./show.ts";
import { fieldsIn, fieldValue, type Given, optionsOf, overrideIn } from "./values.ts";

const MAX_MINUTES = 43_200;

/** What the command line gives. */
interface Words {
  /** The arguments in their order. */
  readonly args: readonly (string | string[])[];
  readonly options: Readonly<Record<string, Given | undefined>>;
  readonly io: Io;
}

interface Row {
  /** The words behind `headgate admin`. */
  readonly words: string;
  readonly help: string;
  readonly args?: readonly Argument[];
  readonly options?: readonly Option[];
  readonly method?: Call["method"];
  /** Below `/.headgate/admin`. `:policy` stands for the first argument. */
  readonly path: string;
  /** A field of every answer. */
  readonly answers: string;
  /** What else the call has: a body, parameters. @throws {Misuse} */
  more?(words: Words): Partial<Call>;
  /** Makes the call, and others around it. Absent: only the call. */
  act?(access: Access, call: Call, words: Words): Promise<Answer>;
  /** The answer as text. */
  show(body: Body, words: Words): string;
}

/** A client of a policy. Its key and kind become part of the call. */
const POLICY = new Argument("<policy>", "the policy's name");
const KEY = new Argument(
  "<key...>",
  "the client's raw key, for example an address; one word for each part of a combined key",
);
const KIND = new Option("--kind <kind>", "the kind of the key (default: the policy's first kind)");
const ONE_CLIENT = { args: [POLICY, KEY], options: [KIND] };

const COUNTS = { ...ONE_CLIENT, path: "/counts/:policy" };
/** A `PUT` replaces the override whole. */
const OVERRIDE = {
  ...ONE_CLIENT,
  method: "PUT",
  path: "/overrides/:policy",
  answers: "version",
  show: (body: Body, { args }: Words) =>
    line(`policy ${args[0]}: override ${overrideText(body.override)}${versionText(body)}`),
} as const;
const LIVE = { path: "/live", answers: "overrides" };

/** A command for each field that the live document changes for all clients of a policy. `default`: as deployed. */
const POLICY_ROWS = POLICY_ENTRIES.map(([name, field]): Row => {
  const value =
    field.is === "numbers"
      ? new Argument("<limit=number...>", "for example api-1=200; api-1=default: as deployed")
      : new Argument(`<${name}>`, "default: as deployed");
  return {
    words: name,
    help: field.help,
    args: [POLICY, field.is === "choice" ? value.choices([...field.of, "default"]) : value],
    method: "PATCH",
    path: "/policies/:policy",
    answers: "version",
    more: ({ args: [, given] }) => ({
      body: { [name]: given === "default" ? null : fieldValue(field, given!, name, Date.now()) },
    }),
    show: (body, { args: [policy, given] }) =>
      line(`policy ${policy}: ${Array.isArray(given) ? given.join(" ") : `${name} ${given}`}${versionText(body)}`),
  };
});

const ROWS: readonly Row[] = [
  {
    words: "counts",
    help: "what each limit holds for a client; charges nothing",
    ...COUNTS,
    answers: "limits",
    show: countsText,
  },
  {
    words: "reset",
    help: "forget a client's counts",
    ...COUNTS,
    method: "DELETE",
    answers: "key",
    show: (_body, { args }) => line(`policy ${args[0]}: the client's counts are reset`),
  },
  {
    words: "override",
    help: "give a client other limits, or take them away again",
    ...OVERRIDE,
    options: [KIND, ...optionsOf("override"), new Option("--remove", "remove the client's override, a block too")],
    more: ({ options }) => changed(overrideIn(options, Date.now())),
  },
  {
    words: "block",
    help: OVERRIDE_FIELDS.block.help,
    ...OVERRIDE,
    options: [KIND, ...optionsOf("block")],
    more: ({ options }) => ({ body: fieldsIn(options, Date.now()) }),
    act: (access, call) => edit(access, call, (fields) => ({ ...fields, block: true, ...(call.body as object) })),
  },
  {
    words: "unblock",
    help: "lift a block; the rest of the override holds again",
    ...OVERRIDE,
    act: (access, call) => edit(access, call, withoutBlock),
  },
  { words: "overrides", help: "list all overrides", path: "/overrides", answers: "overrides", show: overridesText },
  ...POLICY_ROWS,
  {
    words: "policies",
    help: "the policies as they are in force",
    path: "/policies",
    answers: "policies",
    show: jsonText,
  },
  {
    words: "stats",
    help: "requests by policy and outcome, and the clients with most refusals",
    options: [
      new Option("--minutes <number>", `the last minutes: 1 to ${MAX_MINUTES}, which is 30 days`).default("60"),
    ],
    path: "/stats",
    answers: "points",
    more({ options: { minutes } }) {
      const isRight = /^\d{1,5}$/.test(String(minutes)) && Number(minutes) >= 1 && Number(minutes) <= MAX_MINUTES;
      if (!isRight) throw new Misuse(`--minutes: expected an integer from 1 to ${MAX_MINUTES}`);
      return { search: { minutes: String(Number(minutes)) } };
    },
    show: statsText,
  },
  {
    words: "live get",
    help: "print the live document, or write it to a file",
    options: [new Option("--out <file>", "write it there")],
    ...LIVE,
    async act(access, call, { options: { out }, io }) {
      const answer = await callAdmin(access, call);
      if (out !== undefined) writeFileSync(resolve(io.cwd, String(out)), jsonText(answer.body));
      return answer;
    },
    show: (body, { options: { out } }) =>
      out === undefined ? jsonText(body) : line(`${out} is version ${String(body.version)} of the live document`),
  },
  {
    words: "live put",
    help: "replace the live document by an edited one",
    args: [new Argument("<file>", "the document, as `live get` wrote it")],
    options: [new Option("--if-match <etag>", "the version to replace (default: the one that the file names)")],
    ...LIVE,
    method: "PUT",
    answers: "version",
    more({ args: [file], options: { ifMatch }, io }) {
      const body = documentIn(String(file), io);
      if (ifMatch === undefined) return { body };
      if (!isFieldValue(String(ifMatch))) throw new Misuse(`--if-match: expected an ETag such as '"7"'`);
      return { body, ifMatch: String(ifMatch) };
    },
    act: async (access, call) =>
      callAdmin(access, { ...call, ifMatch: call.ifMatch ?? (await etagOf(call.body as Body, access)) }),
    show: (body) => `the live document is replaced${versionText(body)}\n`,
  },
  {
    words: "explain",
    help: "why a request was refused",
    args: [new Argument("<token>", "the field Headgate-Explain of the refusal, at most 10 minutes old")],
    path: "/explain",
    answers: "policies",
    more({ args: [token] }) {
      if (/^[\w-]+$/.test(String(token))) return { search: { token: String(token) } };
      throw new Misuse("expected the value of Headgate-Explain: letters, digits, _ and -");
    },
    show: anyText,
  },
];

export function addAdmin(program: Command, io: Io, end: (code: ExitCode) => void): void {
  const admin = program
    .command("admin")
    .description("change limits while the gateway runs, and look up what a client has left")
    .helpCommand(false)
    .addHelpText("after", "\nThe address and the token may stand in HEADGATE_URL and HEADGATE_TOKEN.");
  const live = admin.command("live").description("the whole live document").helpCommand(false);
  for (const row of ROWS) {
    const name = row.words.replace("live ", "");
    const command = (name === row.words ? admin : live).command(name).description(row.help);
    for (const argument of row.args ?? []) command.addArgument(argument);
    for (const option of row.options ?? []) command.addOption(option);
    command
      .option("--url <url>", "the gateway's address (default: HEADGATE_URL)")
      .option("--token <token>", "the gateway's ADMIN_TOKEN (default: HEADGATE_TOKEN, which other users cannot see)")
      .option("--json", "print the gateway's answer as JSON")
      .action(async () => {
        await perform(row, { args: command.processedArgs, options: command.opts(), io });
        end(0);
      });
  }
}

async function perform(row: Row, words: Words): Promise<void> {
  const { args, options, io } = words;
  const call: Call = {
    method: row.method ?? "GET",
    path: row.path.replace(":policy", encodeURIComponent(String(args[0]))),
    answers: row.answers,
    ...(row.args?.includes(KEY) && { key: args[1] as string[], kind: options.kind as string | undefined }),
    ...row.more?.(words),
  };
  const access = accessOf(options, io);
  try {
    const { body } = await (row.act ?? callAdmin)(access, call, words);
    io.out(options.json ? jsonText(body) : row.show(body, words));
  } catch (error) {
    if (options.json && error instanceof Refused && error.problem !== undefined) io.out(jsonText(error.problem));
    throw error;
  }
}

/** Reads a client's override, and replaces it by the changed one. */
async function edit(
  access: Access,
  call: Call,
  change: (fields: OverrideFields) => OverrideFields | undefined,
): Promise<Answer> {
  const { body: _, ...client } = call;
  const path = call.path.replace("/overrides/", "/counts/");
  const read: Call = { ...client, method: "GET", path, answers: "override" };
  const { override } = await callAdmin(access, read).then(
    ({ body }) => body,
    (error: unknown): Body => {
      // The counts cannot be read, but the override can.
      if (error instanceof Refused && isTable(error.problem) && "override" in error.problem) return error.problem;
      throw error;
    },
  );
  return callAdmin(access, { ...client, ...changed(change(fieldsOf(override) ?? {})) });
}

/** What a changed override makes of a call. @param fields undefined: the override is removed. */
function changed(fields: OverrideFields | undefined): Partial<Call> {
  return fields ? { body: fields } : { method: "DELETE" };
}

function documentIn(file: string, { cwd }: Io): Body {
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
async function etagOf({ version }: Body, access: Access): Promise<string> {
  const { body, etag } = await callAdmin(access, { method: "GET", ...LIVE });
  if (body.version !== version) {
    throw new Failure(
      `the file is of version ${String(version)}, and the gateway has version ${String(body.version)}: ` +
        "somebody else has changed the live document. Get it again, and repeat the change",
    );
  }
  if (etag === null) throw new Failure("the gateway told no ETag: is it of another version?");
  return etag;
}
