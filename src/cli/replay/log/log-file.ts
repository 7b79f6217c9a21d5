/** One file of a log: its format, and its entries. */

import { LogError, type LogFacts } from "./facts.ts";
import type { Format, LineReader, LogEntry } from "./format.ts";
import { combined } from "./formats/combined.ts";
import { headgate } from "./formats/headgate.ts";
import { logpush } from "./formats/logpush.ts";
import { ENDS_EARLY, gunzip, isGzip } from "./gunzip.ts";
import type { Input } from "./input.ts";
import { LineSplitter } from "./split.ts";

/** The first one that recognizes a line reads the file. */
const FORMATS: readonly Format[] = [headgate, logpush, combined];
export const FORMAT_NAMES: readonly string[] = FORMATS.map(({ name }) => name);

export interface LogFile {
  readonly input: Input;
  readonly format: Format;
  readonly isPacked: boolean;
  /** It has read the first lines: what the log lacks is known. */
  readonly first: LineReader;
  /** The earliest instant of the first lines. -Infinity: they have none. */
  readonly firstMs: number;
}

/**
 * Bytes from which a file's format is recognized, packed and unpacked. The second number is for files that begin with
 * long lines.
 */
const FIRST_BYTES = [64 * 1024, 4 * 1024 * 1024];
/** How many of the first lines are checked to see whether the file has another format. */
const CHECKED_LINES = 1000;

/**
 * @returns undefined if the file is empty, or so damaged that it shows no format: `facts` say which.
 * @throws {LogError} if no format recognizes it.
 */
export async function openLogFile(
  input: Input,
  wanted: string | undefined,
  facts: LogFacts,
): Promise<LogFile | undefined> {
  for (const bytes of FIRST_BYTES) {
    const start = await input.start(bytes);
    const isPacked = isGzip(start);
    const { lines: all, damage, isWhole } = await firstLines(start, isPacked, bytes);
    const lines = all.filter((line) => line.trim() !== "");
    const format = wanted ? FORMATS.find(({ name }) => name === wanted) : recognized(lines);
    if (format && lines.length > 0) return { input, format, isPacked, ...readFirst(format, lines) };
    if (damage !== undefined) {
      facts.incomplete.push({ file: input.name, reason: damage });
      return undefined;
    }
    if (isWhole && lines.length === 0) {
      facts.addNote(`${input.name} is empty.`);
      return undefined;
    }
  }
  const names = FORMAT_NAMES.join(", ");
  throw new LogError(`${input.name}: none of its first lines is in a format that replay reads: ${names}.`);
}

/**
 * The complete first lines, without lines that are too long; and why there are no more, if the file is damaged there.
 *
 * @param most bytes that are read of the unpacked file: a few packed bytes may hold a thousand times as many.
 */
async function firstLines(
  start: Uint8Array,
  isPacked: boolean,
  most: number,
): Promise<{ lines: string[]; damage: string | undefined; isWhole: boolean }> {
  let isWhole = start.length < most;
  const splitter = new LineSplitter();
  const lines: (string | null)[] = [];
  async function* once() {
    yield start;
  }
  let damage: string | undefined;
  const onDamage = (reason: string) => {
    // The beginning of a longer file always ends too early.
    if (isWhole || reason !== ENDS_EARLY) damage = reason;
  };
  let bytes = 0;
  for await (const chunk of contents(once(), isPacked, onDamage)) {
    for (const line of splitter.split(chunk)) lines.push(line);
    bytes += chunk.length;
    if (bytes < most) continue;
    isWhole = false;
    break;
  }
  if (isWhole) lines.push(...splitter.end());
  const readable = lines.filter((line) => line !== null);
  return { lines: readable.map((line, i) => (i === 0 ? withoutMark(line) : line)), damage, isWhole };
}

/** The bytes of an input, unpacked. @param onDamage gets the reason why the input has ended early. */
async function* contents(
  raw: AsyncIterable<Uint8Array>,
  isPacked: boolean,
  onDamage: (reason: string) => void,
): AsyncGenerator<Buffer> {
  if (isPacked) return yield* gunzip(raw, onDamage);
  for await (const { buffer, byteOffset, byteLength } of raw) yield Buffer.from(buffer, byteOffset, byteLength);
}

/** Without the byte order mark that some editors write. */
function withoutMark(line: string): string {
  return line.charCodeAt(0) === 0xfeff ? line.slice(1) : line;
}

function recognized(lines: readonly string[]): Format | undefined {
  for (const line of lines) {
    const format = FORMATS.find((one) => one.recognizes(line));
    if (format) return format;
  }
  return undefined;
}

function readFirst(format: Format, lines: readonly string[]): { first: LineReader; firstMs: number } {
  const first = format.reader();
  const entries = lines.map((line) => first.read(line)).filter((read) => typeof read === "object");
  const firstMs = entries.flat().reduce((least, { atMs }) => Math.min(least, atMs), Number.POSITIVE_INFINITY);
  return { first, firstMs: entries.length > 0 ? firstMs : Number.NEGATIVE_INFINITY };
}

/** All entries in the order of the lines, those of a chunk of the file at once. */
export async function* entriesOf({ input, format, isPacked }: LogFile, facts: LogFacts): AsyncGenerator<LogEntry[]> {
  const reader = format.reader();
  const splitter = new LineSplitter();
  const { name: file } = input;
  let [bytes, lines, damaged, firstReason] = [0, 0, 0, ""];
  let isIncomplete = false;

  async function* counted() {
    for await (const chunk of input.chunks()) {
      bytes += chunk.length;
      facts.bytes += chunk.length;
      yield chunk;
    }
  }

  function onDamage(reason: string): void {
    isIncomplete = true;
    facts.incomplete.push({ file, reason });
  }

  function read(line: string | null): LogEntry | readonly LogEntry[] {
    lines++;
    facts.lines++;
    const text = lines === 1 && line !== null ? withoutMark(line) : line;
    const entry = text === null ? "it is longer than 1 MiB" : reader.read(text);
    if (typeof entry === "string") {
      damaged++;
      firstReason ||= `line ${lines}: ${entry}`;
      facts.addDamaged({ file, line: lines, reason: entry });
    }
    if (lines === CHECKED_LINES) check();
    return typeof entry === "object" ? entry : [];
  }

  function check(): void {
    if (damaged * 2 <= lines) return;
    throw new LogError(
      `${file}: ${damaged} of the first ${lines} lines cannot be read as ${format.name} (${firstReason}). ` +
        `The formats that replay reads: ${FORMAT_NAMES.join(", ")}.`,
    );
  }

  for await (const chunk of contents(counted(), isPacked, onDamage)) {
    const entries = splitter.split(chunk).flatMap(read);
    facts.requests += entries.length;
    if (entries.length > 0) yield entries;
  }
  // Its end was cut off, for example by a rotation that copies the file and empties it.
  if (!isIncomplete && input.size !== undefined && bytes < input.size) onDamage("it became shorter while it was read");
  const entries = splitter.end().flatMap(read);
  facts.requests += entries.length;
  if (entries.length > 0) yield entries;
  if (!isIncomplete && lines < CHECKED_LINES) check();
  for (const note of reader.notes()) facts.addNote(note);
  facts.sampledOneIn = Math.max(facts.sampledOneIn, reader.sampledOneIn ?? 1);
}
