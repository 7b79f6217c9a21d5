/** `headgate admin …`: limits that change while the gateway runs. Each command is a row of one table. */

import { Argument, type Command, InvalidArgumentError, Option } from "commander";
import {
  type Field,
  fieldsOf,
  instantOf,
  OVERRIDE_ENTRIES,
  OVERRIDE_FIELDS,
  type OverrideFields,
  POLICY_FIELDS,
  withoutBlock,
} from "../../features/live/fields.ts";
import { isTable, parseJson } from "../../kernel/config/bindings.ts";
import { parseDurationMs } from "../../kernel/core/duration.ts";
import { readText } from "../files.ts";
import { Failure, type Io, Misuse } from "../io.ts";
import { jsonText } from "../printable.ts";
import { type AdminCall, accessOf, anyText, type Body, callAdmin, countsText, statsText } from "./api.ts";

type AskAdmin = (call: AdminCall) => Promise<Body>;

interface Given {
  readonly args: readonly unknown[];
  readonly options: Body;
  readonly io: Io;
}

interface Row {
  readonly summary: string;
  readonly takes?: readonly (Argument | Option)[];
  readonly call: AdminCall;
  /** What else is sent. */
  more?(given: Given): Partial<AdminCall>;
  /** What becomes of the client's override. Undefined: it is removed. @param now the one that it has. */
  edit?(given: Given, now: OverrideFields | undefined): OverrideFields | undefined;
  /** The answer as text. Default: its fields, each on a line. */
  readonly show?: (body: Body) => string;
}

/** How the command line writes what is no text. The gateway knows which texts are right. */
const READERS: Partial<Record<Field["is"], (text: string, before: unknown) => unknown>> = {
  numbers,
  factor: Number,
  instant,
};

const POLICY = new Argument("<policy>", "the policy's name");
const KEY = new Argument("<key...>", "the client's raw key, for example an address; one word for each part of it");
const CLIENT = [POLICY, KEY, new Option("--kind <kind>", "the kind of the key (default: the policy's first kind)")];
const MODE = new Argument("<mode>", "default: as deployed");
const LIMITS = new Argument("<limit=number...>", "for example api-1=200; api-1=default: as deployed");
const REPLACE = new Option("--replace", "replace the override that the client has");
const REMOVE = new Option("--remove", "remove the client's override, a block too");
const MINUTES = new Option("--minutes <number>", "the last minutes: 1 to 43200, which is 30 days").default("60");
const FILE = new Argument("<file>", "the document, as `live get` printed it");
const IF_MATCH = new Option("--if-match <etag>", "the version to replace (default: the file's)");

/** The options of `admin override`. Those that are no effect stand beside a block too, which is another command. */
const [EFFECTS, OTHERS] = [true, false].map((isEffect) =>
  OVERRIDE_ENTRIES.flatMap(([, field]) => {
    if (field.option === undefined || field.isEffect !== isEffect) return [];
    const option = new Option(field.option, field.help);
    const read = READERS[field.is];
    return [read ? option.argParser(read) : option];
  }),
) as [Option[], Option[]];

const COUNTS: AdminCall = { path: "/counts/:policy", answers: "limits" };
const PATCH: AdminCall = { method: "PATCH", path: "/policies/:policy", answers: "version" };
const LIVE: AdminCall = { path: "/live", answers: "overrides" };
const OVERRIDE: AdminCall = { method: "PUT", path: "/overrides/:policy", answers: "version" };

/** By the words behind `headgate admin`. */
const ROWS: Readonly<Record<string, Row>> = {
  counts: { summary: "a client's counts; a peek counts nothing", takes: CLIENT, call: COUNTS, show: countsText },
  reset: { summary: "forget a client's counts", takes: CLIENT, call: { ...COUNTS, method: "DELETE", answers: "key" } },
  override: {
    summary: "give a client other limits, or remove them again",
    takes: [...CLIENT, ...EFFECTS, ...OTHERS, REPLACE, REMOVE.conflicts(EFFECTS.map((one) => one.attributeName()))],
    call: OVERRIDE,
    edit({ options }, now) {
      if (options.remove) return undefined;
      if (!now || options.replace) return fieldsOf({ ...options, limits: options.limit });
      throw new Failure("nothing was changed: the client has an override. --replace replaces it:", JSON.stringify(now));
    },
  },
  block: {
    summary: OVERRIDE_FIELDS.block.help,
    takes: [...CLIENT, ...OTHERS],
    call: OVERRIDE,
    edit: ({ options }, now) => ({ ...now, block: true, ...fieldsOf(options) }),
  },
  unblock: {
    summary: "lift a block; the rest of the override holds again",
    takes: CLIENT,
    call: OVERRIDE,
    edit: (_, now = {}) => withoutBlock(now),
  },
  overrides: { summary: "list all overrides", call: { path: "/overrides", answers: "overrides" } },
  mode: {
    summary: POLICY_FIELDS.mode.help,
    takes: [POLICY, MODE.choices([...POLICY_FIELDS.mode.of, "default"])],
    call: PATCH,
    more: ({ args: [, mode] }) => ({ body: { mode: mode === "default" ? null : mode } }),
  },
  limits: {
    summary: POLICY_FIELDS.limits.help,
    takes: [POLICY, LIMITS.argParser(numbers)],
    call: PATCH,
    more: ({ args: [, limits] }) => ({ body: { limits } }),
  },
  policies: { summary: "the policies in force", call: { path: "/policies", answers: "policies" }, show: jsonText },
  stats: {
    summary: "requests by policy and outcome, and the clients with most refusals",
    takes: [MINUTES],
    call: { path: "/stats", answers: "points" },
    more: ({ options: { minutes } }) => ({ search: { minutes } }),
    show: statsText,
  },
  "live get": { summary: "print the live document", call: LIVE, show: jsonText },
  "live put": {
    summary: "replace the live document by an edited one",
    takes: [FILE, IF_MATCH],
    call: { ...LIVE, method: "PUT", answers: "version" },
    more({ args: [file], options: { ifMatch }, io }) {
      const body = parseJson(readText(io.cwd, String(file)));
      if (isTable(body)) return { body, ifMatch: ifMatch ?? `"${body.version}"` };
      throw new Misuse(`${file}: expected a file with a JSON object`);
    },
  },
  explain: {
    summary: "why a request was refused",
    takes: [new Argument("<token>", "the refusal's Headgate-Explain header, at most 10 minutes old")],
    call: { path: "/explain", answers: "policies" },
    more: ({ args: [token] }) => ({ search: { token } }),
  },
};

/** Changes the override that was read, and never one that somebody else has written since. */
async function change(
  ask: AskAdmin,
  edit: (now: OverrideFields | undefined) => OverrideFields | undefined,
): Promise<Body> {
  const read = await ask({ ...COUNTS, answers: "override" });
  const body = edit(fieldsOf(read.override));
  for (let { version } = read, tries = 1; ; tries++) {
    try {
      return await ask({ ...OVERRIDE, ...(body ? { body } : { method: "DELETE" }), ifMatch: `"${version}"` });
    } catch (error) {
      const { problem: now } = error as { problem?: Body };
      const isSame = JSON.stringify(now?.override) === JSON.stringify(read.override);
      // Others may change other clients in between, but not without end.
      if (now?.status !== 412 || !isSame || tries === 20) throw error;
      version = now.version;
    }
  }
}

export function addAdmin(program: Command, io: Io): void {
  const admin = program
    .command("admin")
    .description("change limits while the gateway runs, and look up what a client has left")
    .helpCommand(false)
    .addHelpText("after", "\nThe address and the token may also come from HEADGATE_URL and HEADGATE_TOKEN.");
  const live = admin.command("live").description("the whole live document").helpCommand(false);
  for (const [words, row] of Object.entries(ROWS)) {
    const name = words.replace("live ", "");
    const command = (name === words ? admin : live).command(name).description(row.summary);
    for (const word of row.takes ?? []) {
      if (word instanceof Option) command.addOption(word);
      else command.addArgument(word);
    }
    command
      .option("--url <url>", "the gateway's address (default: HEADGATE_URL)")
      .option("--token <token>", "the gateway's ADMIN_TOKEN (default: HEADGATE_TOKEN, which other users cannot see)")
      .option("--json", "print the gateway's answer as JSON")
      .action(() => perform(row, { args: command.processedArgs, options: command.opts(), io }));
  }
}

async function perform({ takes, call, more, edit, show = anyText }: Row, given: Given): Promise<void> {
  const { args, options, io } = given;
  const client = takes?.includes(KEY) ? { key: args[1] as string[], search: { kind: options.kind } } : {};
  const access = accessOf(options, io);
  const policy = encodeURIComponent(String(args[0]));
  const ask: AskAdmin = (one) => callAdmin(access, { ...client, ...one, path: one.path.replace(":policy", policy) });
  try {
    const body = edit ? await change(ask, (now) => edit(given, now)) : await ask({ ...call, ...more?.(given) });
    io.out(options.json ? jsonText(body) : show(body));
  } catch (error) {
    const { problem } = error as { problem?: unknown };
    if (options.json && problem !== undefined) io.out(jsonText(problem));
    throw error;
  }
}

/** `api-1=200`, or dollars as in `usd-1=12.50`, as `{ "api-1": 200 }`; `default` undoes. */
function numbers(text: string, before: unknown): object {
  const [, id, number] = /^([a-z0-9-]+)=(\d{1,10}(?:\.\d{1,5})?|default)$/.exec(text) ?? [];
  if (id === undefined) throw new InvalidArgumentError("Expected <limit>=<number>, for example api-1=200");
  return { ...(before as object), [id]: number === "default" ? null : Number(number) };
}

/** A duration or an instant, which the gateway compares with its own clock, or a day, which begins in UTC. */
function instant(text: string): string {
  const written = /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text;
  if (parseDurationMs(text) !== undefined || !Number.isNaN(instantOf(written))) return written;
  throw new InvalidArgumentError('Expected a duration such as "2h", or an instant in the future');
}
