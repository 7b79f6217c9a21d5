/** One file of a log: its format, and its entries. */

import type { LogEntry } from "./entry.ts";
import type { Format, FormatName, LineReader } from "./format.ts";
import { FORMATS } from "./formats.ts";
import { ENDS_EARLY, isGzip } from "./gunzip.ts";
import { contents, type Input } from "./input.ts";
import { LineSplitter } from "./split.ts";
import { LogError, type Telling } from "./told.ts";

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
 * @returns undefined if the file is empty, or so damaged that it shows no format: `told` says which.
 * @throws {LogError} if no format recognizes it.
 */
export async function openLogFile(
  input: Input,
  wanted: FormatName | undefined,
  told: Telling,
): Promise<LogFile | undefined> {
  for (const bytes of FIRST_BYTES) {
    const start = await input.start(bytes);
    const isPacked = isGzip(start);
    const { lines: all, damage, isWhole } = await firstLines(start, isPacked, bytes);
    const lines = all.filter((line) => line.trim() !== "");
    const format = wanted ? FORMATS.find(({ name }) => name === wanted) : recognized(lines);
    if (format && lines.length > 0) return { input, format, isPacked, ...readFirst(format, lines) };
    if (damage !== undefined) {
      told.incomplete.push({ file: input.name, reason: damage });
      return undefined;
    }
    if (isWhole && lines.length === 0) {
      told.addNote(`${input.name} is empty.`);
      return undefined;
    }
  }
  throw new LogError(`${input.name}: none of its first lines is in a format that replay reads: ${formatNames()}.`);
}

function formatNames(): string {
  return FORMATS.map(({ name }) => name).join(", ");
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
  return {
    lines: lines.filter((line) => line !== null).map((line, i) => (i === 0 ? withoutMark(line) : line)),
    damage,
    isWhole,
  };
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
  let firstMs = Number.POSITIVE_INFINITY;
  for (const line of lines) {
    const read = first.read(line);
    if (typeof read !== "object") continue;
    for (const { atMs } of "atMs" in read ? [read] : read) firstMs = Math.min(firstMs, atMs);
  }
  return { first, firstMs: firstMs === Number.POSITIVE_INFINITY ? Number.NEGATIVE_INFINITY : firstMs };
}

/** All entries in the order of the lines, those of a chunk of the file at once. */
export async function* entriesOf(file: LogFile, told: Telling): AsyncGenerator<LogEntry[]> {
  const { input, format, isPacked } = file;
  const lines = new EntryLines(input.name, format, told);
  const splitter = new LineSplitter();
  let isIncomplete = false;
  let bytes = 0;
  const count = (chunk: Uint8Array) => {
    bytes += chunk.length;
    told.bytes += chunk.length;
  };
  const onDamage = (reason: string) => {
    isIncomplete = true;
    told.incomplete.push({ file: input.name, reason });
  };
  for await (const chunk of contents(counted(input.chunks(), count), isPacked, onDamage)) {
    const entries = lines.read(splitter.split(chunk));
    if (entries.length > 0) yield entries;
  }
  // Its end was cut off, for example by a rotation that copies the file and empties it.
  if (!isIncomplete && input.size !== undefined && bytes < input.size) onDamage("it became shorter while it was read");
  const entries = lines.read(splitter.end());
  if (entries.length > 0) yield entries;
  if (!isIncomplete) lines.end();
  lines.tell();
}

async function* counted(
  chunks: AsyncIterable<Uint8Array>,
  count: (chunk: Uint8Array) => void,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    count(chunk);
    yield chunk;
  }
}

class EntryLines {
  readonly #file: string;
  readonly #format: Format;
  readonly #reader: LineReader;
  readonly #told: Telling;
  #lines = 0;
  #damaged = 0;
  #firstReason = "";

  constructor(file: string, format: Format, told: Telling) {
    this.#file = file;
    this.#format = format;
    this.#reader = format.reader();
    this.#told = told;
  }

  read(lines: readonly (string | null)[]): LogEntry[] {
    const entries: LogEntry[] = [];
    for (const line of lines) {
      this.#lines++;
      const text = this.#lines === 1 && line !== null ? withoutMark(line) : line;
      const entry = text === null ? "it is longer than 1 MiB" : this.#reader.read(text);
      if (typeof entry === "string") this.#addDamaged(entry);
      else if (entry && "atMs" in entry) entries.push(entry);
      else if (entry) entries.push(...entry);
      if (this.#lines === CHECKED_LINES) this.#check();
    }
    this.#told.lines += lines.length;
    this.#told.requests += entries.length;
    return entries;
  }

  /** After the last line. */
  end(): void {
    if (this.#lines < CHECKED_LINES) this.#check();
  }

  tell(): void {
    for (const note of this.#reader.notes?.() ?? []) this.#told.addNote(note);
    this.#told.sampledOneIn = Math.max(this.#told.sampledOneIn, this.#reader.sampledOneIn ?? 1);
  }

  #addDamaged(reason: string): void {
    this.#damaged++;
    this.#firstReason ||= `line ${this.#lines}: ${reason}`;
    this.#told.addDamaged({ file: this.#file, line: this.#lines, reason });
  }

  #check(): void {
    if (this.#damaged * 2 <= this.#lines) return;
    throw new LogError(
      `${this.#file}: ${this.#damaged} of the first ${this.#lines} lines cannot be read as ${this.#format.name} ` +
        `(${this.#firstReason}). The formats that replay reads: ${formatNames()}.`,
    );
  }
}
