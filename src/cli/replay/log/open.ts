/**
 * A log, from its files to entries in the order of time: servers write lines when requests end, and Logpush has no
 * order.
 */

import { Failure } from "../../io.ts";
import type { LineReader, LogFormat, LoggedRequest } from "./format.ts";
import { combined } from "./formats/combined.ts";
import { headgate } from "./formats/headgate.ts";
import { logpush } from "./formats/logpush.ts";
import { type LogInput, linesOf, openInput } from "./lines.ts";

/** The first one that recognizes a line reads the file. */
const FORMATS: readonly LogFormat[] = [headgate, logpush, combined];
export const FORMAT_NAMES: readonly string[] = FORMATS.map(({ name }) => name);
const READABLE = `The formats that replay reads: ${FORMAT_NAMES.join(", ")}.`;

/** Characters in which a file must show its format: it may begin with long lines. */
const MOST_FIRST = 4 * 1024 * 1024;

/** What reading a log has found out about the log itself. It grows while the log is read. */
export class LogFacts {
  /** Of all files. NaN: some input has no size, for example the standard input. */
  totalBytes = 0;
  /** Bytes read so far, of the files as they lie on the disk. */
  bytes = 0;
  lines = 0;
  files = 0;
  /** Lines that could not be read. */
  damaged = 0;
  /** Files that could not be read to their end, and why. */
  readonly incomplete: string[] = [];
  /** What the reader of the report must know. Complete after the last batch. */
  readonly notes = new Set<string>();
}

export type OpenLog = Awaited<ReturnType<typeof openLog>>;

interface LogFile {
  readonly input: LogInput;
  readonly format: LogFormat;
  /** It has read the first lines: what the log lacks is known. */
  readonly first: LineReader;
  /** The earliest instant of the first lines. Infinity: they have none. */
  readonly firstMs: number;
}

/**
 * @param names of files, in any order; `-` is the standard input.
 * @param format its name. Undefined: each file's first lines tell.
 * @throws {Failure} if a file is not there, or in no known format.
 */
export async function openLog(
  names: readonly string[],
  format: string | undefined,
  { cwd, stdin }: { readonly cwd: string; readonly stdin: AsyncIterable<Uint8Array> },
) {
  const facts = new LogFacts();
  const files: LogFile[] = [];
  for (const name of new Set(names)) {
    facts.files++;
    const input = await openInput(name, cwd, stdin);
    facts.totalBytes += input.size;
    const file = await openFile(input, format, facts);
    if (file) files.push(file);
  }
  const recorded = files.filter((file) => file.format === headgate).length;
  if (recorded > 0 && recorded < files.length) {
    throw new Failure("A gateway has recorded some of the files, not all of them: replay them one after the other.");
  }

  /** Entries in the order of time. It can be called once. @throws {Failure} if the log cannot be read on. */
  const batches = (): AsyncGenerator<readonly LoggedRequest[]> => inOrder(files, facts);

  /**
   * The field that the log would need. Undefined: it has it. It lacks what any of its files lacks.
   *
   * @param needed as for a `LineReader`, or `tokens` (meters), `stated costs`, `calls` (`rpc`, `tool`, `body`), `jwt`:
   * `header:x-user`, `path`.
   */
  function lacks(needed: string): string | undefined {
    const [part = "", name = ""] = needed.split(/:(.*)/s);
    const fields = files.map(({ first }) => NOWHERE[part] ?? first.lacks(part, name.toLowerCase()));
    return fields.find((one) => one !== undefined);
  }

  /** `isRecorded`: a gateway has written the lines. Policies, keys and costs are in them. */
  return { facts, isRecorded: recorded > 0, batches, lacks };
}

/** What no log of requests has. A logged token can no longer be verified. */
const NOWHERE: Readonly<Record<string, string>> = {
  tokens: "a field for tokens",
  "stated costs": "the costs that answers have stated",
  calls: "the bodies of requests",
  body: "the bodies of requests",
  jwt: "the claims of verified tokens",
  continent: "a field for the continent",
  CLIENT_IP: "the address that CLIENT_IP names",
};

/**
 * Reads the first lines. @returns undefined if the file is empty, or so damaged that it shows no format: `facts` say
 * which. @throws {Failure} if no format recognizes it.
 */
async function openFile(input: LogInput, wanted: string | undefined, facts: LogFacts): Promise<LogFile | undefined> {
  let format = FORMATS.find(({ name }) => name === wanted);
  let read = 0;
  for await (const all of linesOf(input, () => {})) {
    const lines = all.filter((line) => line !== null && line.trim() !== "") as string[];
    // A line that is too long is no empty one.
    read += lines.join("").length + (all.includes(null) ? 1 : 0);
    format ??= FORMATS.find((one) => lines.some((line) => one.recognizes(line)));
    if (format && lines.length > 0) {
      const first = format.reader(new Set());
      const found = lines.map((line) => first.read(line)).filter((one) => typeof one === "object");
      const firstMs = found.flat().reduce((least, { atMs }) => Math.min(least, atMs), Number.POSITIVE_INFINITY);
      return { input, format, first, firstMs };
    }
    if (read > MOST_FIRST) break;
  }
  if (input.damage !== undefined) facts.incomplete.push(`${input.name}: ${input.damage}`);
  else if (read === 0) facts.notes.add(`${input.name} is empty.`);
  else throw new Failure(`${input.name}: none of its first lines is in a known format. ${READABLE}`);
  return undefined;
}

/** All entries in the order of the lines, those of a chunk of the file at once. */
async function* entriesOf({ input, format }: LogFile, facts: LogFacts): AsyncGenerator<LoggedRequest[]> {
  const reader = format.reader(facts.notes);
  let [lines, damaged, first] = [0, 0, ""];

  function read(line: string | null): readonly LoggedRequest[] {
    lines++;
    const found = line === null ? "it is longer than a million characters" : reader.read(line);
    if (typeof found === "object") return [found].flat();
    if (found !== undefined) damaged++;
    if (found !== undefined) first ||= `line ${lines}: ${found}`;
    return [];
  }

  const onRead = (bytes: number) => {
    facts.bytes += bytes;
  };
  for await (const chunk of linesOf(input, onRead)) {
    facts.lines += chunk.length;
    yield chunk.flatMap(read);
  }
  if (input.damage !== undefined) facts.incomplete.push(`${input.name}: ${input.damage}`);
  facts.damaged += damaged;
  if (damaged > lines / 2) {
    throw new Failure(`${input.name}: most lines cannot be read as ${format.name} (${first}). ${READABLE}`);
  }
  if (damaged > 0)
    facts.notes.add(`${input.name}: ${damaged} lines could not be read, and are left out. First: ${first}`);
}

/** Entries that are held back, about 50 MiB. An entry may stand half as many lines too late. */
const HELD = 50_000;

/** Of recorded lines of one instant the refused come last: they stay refused after others that were admitted then. */
const inTime = (a: LoggedRequest, b: LoggedRequest) => a.atMs - b.atMs || Number(isRefused(a)) - Number(isRefused(b));
const isRefused = ({ recorded }: LoggedRequest) => recorded?.allowed === false;

/**
 * The next entries always come from the source that was read least far. One is opened when the others have reached its
 * beginning: a thousand files that follow each other are never open together.
 */
async function* inOrder(files: readonly LogFile[], facts: LogFacts): AsyncGenerator<LoggedRequest[]> {
  const waiting = [...files].sort((a, b) => b.firstMs - a.firstMs);
  const open: { readonly batches: AsyncGenerator<LoggedRequest[]>; reachedMs: number }[] = [];
  let held: LoggedRequest[] = [];

  function give(most: number, untilMs: number): LoggedRequest[] {
    held.sort(inTime);
    let count = Math.min(most, held.findLastIndex(({ atMs }) => atMs <= untilMs) + 1);
    // Those of one instant stay together.
    while (count > 0 && held[count]?.atMs === held[count - 1]!.atMs) count++;
    const given = held.slice(0, count);
    held = held.slice(count);
    return given;
  }

  for (;;) {
    const nextMs = waiting.at(-1)?.firstMs ?? Number.POSITIVE_INFINITY;
    let behind = open.toSorted((a, b) => a.reachedMs - b.reachedMs)[0];
    if (waiting.length > 0 && !(behind && behind.reachedMs < nextMs)) {
      behind = { batches: entriesOf(waiting.pop()!, facts), reachedMs: nextMs };
      open.push(behind);
    }
    if (!behind) break;
    const { done, value } = await behind.batches.next();
    if (done) {
      open.splice(open.indexOf(behind), 1);
      continue;
    }
    // The middle one: a single wrong instant says nothing about the others.
    const instants = value.map(({ atMs }) => atMs).sort((a, b) => a - b);
    behind.reachedMs = instants[instants.length >> 1] ?? behind.reachedMs;
    held = held.concat(value);
    if (held.length < HELD) continue;
    yield give(held.length >> 1, Math.min(nextMs, ...open.map(({ reachedMs }) => reachedMs)));
  }
  yield give(held.length, Number.POSITIVE_INFINITY);
}
