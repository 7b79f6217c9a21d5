/** A log, from its files to entries in the order of time. */

import { KEY_READERS, sourceOf } from "../../../keys/sources.ts";
import { type Format, type LineReader, type LogEntry, LogError, type Needed } from "./format.ts";
import { combined } from "./formats/combined.ts";
import { headgate } from "./formats/headgate.ts";
import { logpush } from "./formats/logpush.ts";
import { type Input, linesOf, openInput } from "./lines.ts";
import { inOrder } from "./order.ts";

/** The first one that recognizes a line reads the file. */
const FORMATS: readonly Format[] = [headgate, logpush, combined];
export const FORMAT_NAMES: readonly string[] = FORMATS.map(({ name }) => name);

/** Unpacked bytes in which a file must show its format: it may begin with long lines. */
const MOST_FIRST_BYTES = 4 * 1024 * 1024;
/** How many of the first lines are checked to see whether the file has another format. */
const CHECKED_LINES = 1000;
/** Damaged lines that are named. */
const NAMED_LINES = 5;
/** From this share of late requests on, their wrong instants may change what the report says. */
const DOUBTFUL_SHARE = 0.01;
const DOUBTFUL =
  "The numbers may be wrong: more than 1 % of the requests stood far behind later ones, and many were replayed at one " +
  "instant. Check the times in the log, and sort it.";

/** What reading a log has found out about the log itself. It grows while the log is read. */
export interface LogFacts {
  readonly files: number;
  /** Of all files. Undefined: some input has no size, for example the standard input. */
  readonly totalBytes: number | undefined;
  /** Bytes read so far, of the files as they lie on the disk. */
  bytes: number;
  lines: number;
  /** Lines that are requests. */
  requests: number;
  /** Lines that could not be read, and where the first ones stand. */
  damaged: number;
  readonly firstDamaged: string[];
  /** Requests that the log shows much too late: they are replayed at the instant that the replay had reached. */
  late: number;
  /** Files that could not be read to their end, and why. */
  readonly incomplete: string[];
  /** What the reader of the report must know. Complete after the last batch. */
  readonly notes: Set<string>;
}

export interface OpenLog {
  /** As for a `LineReader`: the log lacks what any of its files lacks. */
  lacks(needed: Needed): string | undefined;
  /**
   * Entries in the order of time. It can be called once.
   *
   * @throws {LogError} if the log cannot be read on.
   */
  batches(): AsyncIterable<readonly LogEntry[]>;
  readonly facts: LogFacts;
  /** A gateway has written the lines: policies, keys and costs are in them. */
  readonly isRecorded: boolean;
}

interface LogFile {
  readonly input: Input;
  readonly format: Format;
  /** It has read the first lines: what the log lacks is known. */
  readonly first: LineReader;
  /** The earliest instant of the first lines. -Infinity: they have none. */
  readonly firstMs: number;
}

interface OpenLogOptions {
  /** The name of the files' format. Absent: each file's first lines tell. */
  readonly format?: string | undefined;
  readonly cwd: string;
  readonly stdin: AsyncIterable<Uint8Array>;
}

/**
 * @param names of files, in any order; `-` is the standard input.
 * @throws {LogError} if a file is not there, or in no known format.
 */
export async function openLog(names: readonly string[], options: OpenLogOptions): Promise<OpenLog> {
  const inputs: Input[] = [];
  for (const name of new Set(names)) inputs.push(await openInput(name, options));
  const totalBytes = inputs.every(({ size }) => size !== undefined)
    ? inputs.reduce((sum, { size = 0 }) => sum + size, 0)
    : undefined;
  const facts: LogFacts = {
    files: inputs.length,
    totalBytes,
    ...{ bytes: 0, lines: 0, requests: 0, damaged: 0, late: 0 },
    ...{ firstDamaged: [], incomplete: [], notes: new Set() },
  };
  const files: LogFile[] = [];
  for (const input of inputs) {
    const file = await openFile(input, options.format, facts);
    if (file) files.push(file);
  }
  const recorded = files.filter(({ format }) => format === headgate).length;
  if (recorded > 0 && recorded < files.length) {
    throw new LogError("A gateway has recorded some of the files, not all of them: replay them one after the other.");
  }
  /** Key parts for which the log has a field that may be empty in all of its lines. */
  const unseen = new Set<string>();

  async function* batches(): AsyncGenerator<readonly LogEntry[]> {
    const sources = files.map((file) => ({ firstMs: file.firstMs, batches: () => entriesOf(file, facts) }));
    for await (const batch of inOrder(sources, () => facts.late++)) {
      for (const part of unseen) if (batch.some(({ head }) => isIn(head, part))) unseen.delete(part);
      yield batch;
    }
    if (facts.late > facts.requests * DOUBTFUL_SHARE) facts.notes.add(DOUBTFUL);
    for (const part of unseen) facts.notes.add(`No line of the log has a value for the key ${part}.`);
  }

  return {
    facts,
    isRecorded: recorded > 0,
    batches,
    lacks(needed) {
      for (const { first } of files) {
        const field = first.lacks(needed);
        if (field !== undefined) return field;
      }
      const part = needed.startsWith("key ") ? needed.slice("key ".length) : "";
      if (MAY_BE_EMPTY.includes(sourceOf(part))) unseen.add(part);
      return undefined;
    },
  };
}

/** Sources whose values are fields that logs can have and yet leave empty: a header that nobody chose to log. */
const MAY_BE_EMPTY: readonly string[] = ["bearer", "header", "cookie", "country", "asn"];

function isIn(head: LogEntry["head"], part: string): boolean {
  const source = sourceOf(part);
  return Boolean(KEY_READERS[source](head, part.slice(source.length + 1), () => ""));
}

/**
 * Reads the first lines. @returns undefined if the file is empty, or so damaged that it shows no format: `facts` say
 * which. @throws {LogError} if no format recognizes it.
 */
async function openFile(input: Input, wanted: string | undefined, facts: LogFacts): Promise<LogFile | undefined> {
  let format = FORMATS.find(({ name }) => name === wanted);
  let damage: string | undefined;
  let [bytes, isEmpty] = [0, true];
  for await (const all of linesOf(input, NOTHING, (reason) => (damage = reason))) {
    const lines = all.filter((line) => line !== null && line.trim() !== "") as string[];
    for (const line of all) bytes += line?.length ?? 0;
    isEmpty &&= all.every((line) => line?.trim() === "");
    format ??= FORMATS.find((one) => lines.some((line) => one.recognizes(line)));
    if (format && lines.length > 0) {
      const first = format.reader();
      const entries = lines.map((line) => first.read(line)).filter((read) => typeof read === "object");
      const instants = entries.flat().map(({ atMs }) => atMs);
      const firstMs = instants.reduce((least, atMs) => Math.min(least, atMs), instants[0] ?? Number.NEGATIVE_INFINITY);
      return { input, format, first, firstMs };
    }
    if (bytes > MOST_FIRST_BYTES) break;
  }
  if (damage === undefined && !isEmpty) {
    const names = FORMAT_NAMES.join(", ");
    throw new LogError(`${input.name}: none of its first lines is in a format that replay reads: ${names}.`);
  }
  if (damage === undefined) facts.notes.add(`${input.name} is empty.`);
  else facts.incomplete.push(`${input.name}: ${damage}`);
  return undefined;
}

const NOTHING = () => {};

/** All entries in the order of the lines, those of a chunk of the file at once. */
async function* entriesOf({ input, format }: LogFile, facts: LogFacts): AsyncGenerator<LogEntry[]> {
  const reader = format.reader();
  let [lines, damaged, firstReason, isIncomplete] = [0, 0, "", false];

  function read(line: string | null): readonly LogEntry[] {
    lines++;
    facts.lines++;
    const found = line === null ? "it is longer than 1 MiB" : reader.read(line);
    if (typeof found === "string") {
      damaged++;
      facts.damaged++;
      firstReason ||= `line ${lines}: ${found}`;
      if (facts.firstDamaged.length < NAMED_LINES) facts.firstDamaged.push(`${input.name}, line ${lines}: ${found}`);
    }
    if (lines === CHECKED_LINES) check();
    return typeof found === "object" ? [found].flat() : [];
  }

  function check(): void {
    if (damaged * 2 <= lines) return;
    throw new LogError(
      `${input.name}: ${damaged} of the first ${lines} lines cannot be read as ${format.name} (${firstReason}). ` +
        `The formats that replay reads: ${FORMAT_NAMES.join(", ")}.`,
    );
  }

  const onDamage = (reason: string) => {
    isIncomplete = true;
    facts.incomplete.push(`${input.name}: ${reason}`);
  };
  for await (const chunk of linesOf(input, (bytes) => (facts.bytes += bytes), onDamage)) {
    const entries = chunk.flatMap(read);
    facts.requests += entries.length;
    yield entries;
  }
  if (!isIncomplete && lines < CHECKED_LINES) check();
  for (const note of reader.notes()) facts.notes.add(note);
}
