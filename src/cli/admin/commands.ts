/** `headgate admin …`: limits that change while the gateway runs. Each command is a row of one table. */

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { Argument, type Command, InvalidArgumentError, Option } from "commander";
import { isTable, parseJson } from "../../config/bindings.ts";
import { bareExpected, parseDurationMs } from "../../core/duration.ts";
import {
  EFFECTS,
  type Field,
  fieldsOf,
  instantOf,
  OVERRIDE_ENTRIES,
  OVERRIDE_FIELDS,
  type OverrideFields,
  POLICY_FIELDS,
  withoutBlock,
} from "../../limiter/live/fields.ts";
import { type Io, Misuse } from "../io.ts";
import { jsonText, line } from "../printable.ts";
import { accessOf, type Body, type Call, callAdmin, Refused } from "./api.ts";
import { anyText, changeText, countsText, fieldsText, overridesText, statsText } from "./show.ts";

type Ask = (call: Call) => Promise<Body>;

/** What the command line gives. */
interface Given {
  readonly args: readonly unknown[];
  readonly options: Body;
  readonly io: Io;
}

interface Row {
  readonly summary: string;
  readonly takes?: readonly (Argument | Option)[];
  readonly call: Call;
  /** What else is sent. `ask` asks the gateway before, about the same client: for what changes only a part. */
  more?(given: Given, ask: Ask): Partial<Call> | Promise<Partial<Call>>;
  /** The answer as text. */
  show(body: Body, given: Given): string;
}

/** How the command line writes what is no text. The gateway knows which texts are right. */
const READERS: Partial<Record<Field["is"], (text: string, before: unknown) => unknown>> = { numbers, factor, instant };

const KEY_HELP = "the client's raw key, for example an address; one word for each part of a combined key";
const KIND = new Option("--kind <kind>", "the kind of the key (default: the policy's first kind)");
const ETAG = like(/^[\x21-\x7e]+$/, `an ETag such as '"7"'`);
const EXPLAINED = like(/^[\w-]+$/, "the value of Headgate-Explain: letters, digits, _ and -");
const LIMITS_HELP = "for example api-1=200; api-1=default: as deployed";
const MINUTES_HELP = "the last minutes: 1 to 43200, which is 30 days";

const POLICY = new Argument("<policy>", "the policy's name");
const KEY = new Argument("<key...>", KEY_HELP);
const CLIENT = [POLICY, KEY, KIND];
const MODE = new Argument("<mode>", "default: as deployed").choices([...POLICY_FIELDS.mode.of, "default"]);
const LIMITS = new Argument("<limit=number...>", LIMITS_HELP).argParser(numbers);
const REMOVE = new Option("--remove", "remove the client's override, a block too");
const MINUTES = new Option("--minutes <number>", MINUTES_HELP).default("60").argParser(minutes);
const OUT = new Option("--out <file>", "write it there");
const FILE = new Argument("<file>", "the document, as `live get` wrote it");
const IF_MATCH = new Option("--if-match <etag>", "the version to replace (default: the file's)").argParser(ETAG);
const EXPLAIN = new Argument("<token>", "the refusal's Headgate-Explain, 10 minutes old at most").argParser(EXPLAINED);

/** The options of `admin override`. Those that are no effect stand beside a block too, which is another command. */
const EFFECT_OPTIONS = optionsOf(true);
const OTHER_OPTIONS = optionsOf(false);

function optionsOf(isEffect: boolean): Option[] {
  return OVERRIDE_ENTRIES.flatMap(([, field]) => {
    if (field.option === undefined || field.isEffect !== isEffect) return [];
    const option = new Option(field.option, field.help);
    const read = READERS[field.is];
    return [read ? option.argParser(read) : option];
  });
}

const COUNTS: Call = { path: "/counts/:policy", answers: "limits" };
const PATCH: Call = { method: "PATCH", path: "/policies/:policy", answers: "version" };
const LIVE: Call = { path: "/live", answers: "overrides" };
const OVERRIDE = {
  call: { method: "PUT", path: "/overrides/:policy", answers: "version" },
  show: (body: Body, { args: [policy] }: Given) =>
    changeText(`policy ${policy}: override ${fieldsText(body.override)}`, body),
};

/** By the words behind `headgate admin`. */
const ROWS: Readonly<Record<string, Row>> = {
  counts: {
    summary: "what each limit holds for a client; charges nothing",
    takes: CLIENT,
    call: COUNTS,
    show: countsText,
  },
  reset: {
    summary: "forget a client's counts",
    takes: CLIENT,
    call: { ...COUNTS, method: "DELETE", answers: "key" },
    show: (_, { args: [policy] }) => line(`policy ${policy}: the client's counts are reset`),
  },
  override: {
    summary: "give a client other limits, or take them away again",
    takes: [...CLIENT, ...EFFECT_OPTIONS, ...OTHER_OPTIONS, REMOVE],
    ...OVERRIDE,
    more({ options }) {
      const fields = fieldsIn(options);
      if (options.remove && Object.keys(fields).length === 0) return override(undefined);
      if (!options.remove && EFFECTS.some((name) => name in fields)) return override(fields);
      throw new Misuse("expected --limit, --factor, --plan or --exempt, or --remove alone");
    },
  },
  block: {
    summary: OVERRIDE_FIELDS.block.help,
    takes: [...CLIENT, ...OTHER_OPTIONS],
    ...OVERRIDE,
    more: async ({ options }, ask) => override({ ...(await overrideNow(ask)), block: true, ...fieldsIn(options) }),
  },
  unblock: {
    summary: "lift a block; the rest of the override holds again",
    takes: CLIENT,
    ...OVERRIDE,
    more: async (_, ask) => override(withoutBlock(await overrideNow(ask))),
  },
  overrides: { summary: "list all overrides", call: { path: "/overrides", answers: "overrides" }, show: overridesText },
  mode: {
    summary: POLICY_FIELDS.mode.help,
    takes: [POLICY, MODE],
    call: PATCH,
    more: ({ args: [, mode] }) => ({ body: { mode: mode === "default" ? null : mode } }),
    show: (body, { args: [policy, mode] }) => changeText(`policy ${policy}: mode ${mode}`, body),
  },
  limits: {
    summary: POLICY_FIELDS.limits.help,
    takes: [POLICY, LIMITS],
    call: PATCH,
    more: ({ args: [, limits] }) => ({ body: { limits } }),
    show: (body, { args: [policy, limits] }) => changeText(`policy ${policy}: ${fieldsText({ limits })}`, body),
  },
  policies: { summary: "the policies in force", call: { path: "/policies", answers: "policies" }, show: jsonText },
  stats: {
    summary: "requests by policy and outcome, and the clients with most refusals",
    takes: [MINUTES],
    call: { path: "/stats", answers: "points" },
    more: ({ options: { minutes } }) => ({ search: { minutes } }),
    show: statsText,
  },
  "live get": {
    summary: "print the live document, or write it to a file",
    takes: [OUT],
    call: LIVE,
    show: (body, { options: { out } }) =>
      out === undefined ? jsonText(body) : line(`${out} is version ${body.version} of the live document`),
  },
  "live put": {
    summary: "replace the live document by an edited one",
    takes: [FILE, IF_MATCH],
    call: { ...LIVE, method: "PUT", answers: "version" },
    more({ args: [file], options: { ifMatch }, io }) {
      const body = documentIn(String(file), io);
      return { body, ifMatch: ifMatch ?? `"${body.version}"` };
    },
    show: (body) => changeText("the live document is replaced", body),
  },
  explain: {
    summary: "why a request was refused",
    takes: [EXPLAIN],
    call: { path: "/explain", answers: "policies" },
    more: ({ args: [token] }) => ({ search: { token } }),
    show: anyText,
  },
};

/** The fields of an override that options describe. */
function fieldsIn({ limit: limits, ...options }: Body): OverrideFields {
  return fieldsOf({ ...options, limits }) ?? {};
}

async function overrideNow(ask: Ask): Promise<OverrideFields> {
  const { override } = await ask({ ...COUNTS, answers: "override" });
  return fieldsOf(override) ?? {};
}

/** Replaces an override whole. @param fields undefined: it is removed. */
function override(fields: OverrideFields | undefined): Partial<Call> {
  return fields ? { body: fields } : { method: "DELETE" };
}

function documentIn(file: string, { cwd }: Io): Body {
  const path = resolve(cwd, file);
  if (!existsSync(path)) throw new Misuse(`there is no ${file}`);
  const document = parseJson(readFileSync(path, "utf8"));
  if (isTable(document)) return document;
  throw new Misuse(`${file}: expected a JSON object`);
}

export function addAdmin(program: Command, io: Io): void {
  const admin = program
    .command("admin")
    .description("change limits while the gateway runs, and look up what a client has left")
    .helpCommand(false)
    .addHelpText("after", "\nThe address and the token may stand in HEADGATE_URL and HEADGATE_TOKEN.");
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

async function perform({ takes, call, more, show }: Row, given: Given): Promise<void> {
  const { args, options, io } = given;
  const client = takes?.includes(KEY) ? { key: args[1] as string[], search: { kind: options.kind } } : {};
  const access = accessOf(options, io);
  const policy = encodeURIComponent(String(args[0]));
  const ask: Ask = (one) => callAdmin(access, { ...client, ...one, path: one.path.replace(":policy", policy) });
  try {
    const body = await ask({ ...call, ...(await more?.(given, ask)) });
    if (options.out !== undefined) writeFileSync(resolve(io.cwd, String(options.out)), jsonText(body));
    io.out(options.json ? jsonText(body) : show(body, given));
  } catch (error) {
    if (options.json && error instanceof Refused && error.problem !== undefined) io.out(jsonText(error.problem));
    throw error;
  }
}

/** The end of the year 9999: later instants are not written with four digits. */
const LAST_INSTANT_MS = Date.UTC(9999, 11, 31);

/** `api-1=200`, or dollars as in `usd-1=12.50`, as `{ "api-1": 200 }`; `default` undoes. */
function numbers(text: string, before: unknown): object {
  const [, id, number] = /^([a-z0-9-]+)=(\d{1,10}(?:\.\d{1,5})?|default)$/.exec(text) ?? [];
  if (id === undefined) throw expected("<limit>=<number>, for example api-1=200");
  return { ...(before as object), [id]: number === "default" ? null : Number(number) };
}

function factor(text: string): number {
  if (/^\d+(?:\.\d+)?$/.test(text) && Number(text) > 0) return Number(text);
  throw expected("a number above 0, for example 2 or 0.5");
}

/** An instant or a day in the future, or a duration from now, as an instant in UTC. */
function instant(text: string): string {
  const nowMs = Date.now();
  const durationMs = parseDurationMs(text);
  const written = /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text;
  const atMs = durationMs === undefined ? instantOf(written) : nowMs + durationMs;
  if (atMs > nowMs && atMs <= LAST_INSTANT_MS) return new Date(atMs).toISOString();
  const asDuration = bareExpected(text, 1, LAST_INSTANT_MS - nowMs);
  throw expected(asDuration ?? 'a duration such as "2h", or an instant in the future such as "2026-12-01T00:00:00Z"');
}

function minutes(text: string): string {
  if (/^[1-9]\d{0,4}$/.test(text) && Number(text) <= 43_200) return text;
  throw expected("an integer from 1 to 43200");
}

function like(pattern: RegExp, what: string): (text: string) => string {
  return (text) => {
    if (pattern.test(text)) return text;
    throw expected(what);
  };
}

function expected(what: string): InvalidArgumentError {
  return new InvalidArgumentError(`Expected ${what}`);
}
