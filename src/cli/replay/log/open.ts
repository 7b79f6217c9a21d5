/** A log, from its files to entries in the order of time. */

import { KEY_READERS, sourceOf } from "../../../keys/sources.ts";
import { LogError, LogFacts } from "./facts.ts";
import type { Carried, LogEntry, Needed } from "./format.ts";
import { openInputs } from "./input.ts";
import { entriesOf, type LogFile, openLogFile } from "./log-file.ts";
import { merged } from "./merge.ts";
import { roughlyOrdered, TimeOrder } from "./order.ts";

export interface OpenLog {
  /** For all files together: the log lacks what any of its files lacks. */
  readonly carried: Carried;
  /**
   * Entries in the order of time, except a few late entries. It can be called once.
   *
   * @throws {LogError} if the log cannot be read on.
   */
  batches(signal?: AbortSignal): AsyncIterable<readonly LogEntry[]>;
  readonly facts: LogFacts;
  /** A gateway has written the lines: policies, keys and costs are in them. */
  readonly isRecorded: boolean;
}

interface OpenLogOptions {
  /** The name of the files' format. Absent: each file's first lines tell. */
  readonly format?: string;
  readonly cwd: string;
  readonly stdin: AsyncIterable<Uint8Array>;
}

/**
 * @param names of files, in any order; `-` is the standard input.
 * @throws {LogError} if a file is not there, or in no known format.
 */
export async function openLog(names: readonly string[], options: OpenLogOptions): Promise<OpenLog> {
  const inputs = await openInputs(names, options);
  const sizes = inputs.map(({ size }) => size);
  const totalBytes = sizes.reduce((sum, size) => (sum === undefined || size === undefined ? undefined : sum + size), 0);
  const facts = new LogFacts(inputs.length, totalBytes);
  const files: LogFile[] = [];
  for (const input of inputs) {
    const file = await openLogFile(input, options.format, facts);
    if (file) files.push(file);
  }
  const recorded = files.filter(({ format }) => format.name === "headgate").length;
  if (recorded > 0 && recorded < files.length) {
    throw new LogError("A gateway has recorded some of the files, not all of them: replay them one after the other.");
  }
  const unseen = new Unseen();
  return {
    facts,
    isRecorded: recorded > 0,
    carried: {
      lacks(needed) {
        for (const { first } of files) {
          const field = first.lacks(needed);
          if (field !== undefined) return field;
        }
        unseen.add(needed);
        return undefined;
      },
    },
    batches: (signal) => inOrder(files, { facts, unseen, signal }),
  };
}

async function* inOrder(
  files: readonly LogFile[],
  { facts, unseen, signal }: { facts: LogFacts; unseen: Unseen; signal: AbortSignal | undefined },
): AsyncGenerator<readonly LogEntry[]> {
  const order = new TimeOrder();
  const sources = files.map((file) => ({
    firstMs: file.firstMs,
    batches: () => (files.length > 1 ? roughlyOrdered(entriesOf(file, facts)) : entriesOf(file, facts)),
  }));
  for await (const entries of merged(sources)) {
    signal?.throwIfAborted();
    unseen.look(entries);
    for (const batch of order.add(entries)) yield batch;
    facts.late = order.late;
  }
  for (const batch of order.end()) yield batch;
  facts.late = order.late;
  if (facts.late > facts.requests * DOUBTFUL_SHARE) facts.addNote(DOUBTFUL);
  for (const note of unseen.notes()) facts.addNote(note);
  if (facts.sampledOneIn > 1) facts.addNote(sampledNote(facts.sampledOneIn));
}

/** From this share of late requests on, their wrong instants may change what the report says. */
const DOUBTFUL_SHARE = 0.01;
const DOUBTFUL =
  "The numbers may be wrong: more than 1 % of the requests stood far behind later ones, and many were replayed at one " +
  "instant. Check the times in the log, and sort it.";

function sampledNote(oneIn: number): string {
  const share = Number((100 / oneIn).toPrecision(2));
  return `The log is sampled: it has ${share} % of the requests. Limits refuse less in the replay than in truth.`;
}

/** Sources whose values are fields that logs can have and yet leave empty. */
const LOOKED_FOR: readonly string[] = ["bearer", "header", "cookie", "country", "asn"];

/** Key parts for which a log has a field that is empty in all of its lines: a header that nobody chose to log. */
class Unseen {
  readonly #parts = new Set<string>();

  add(needed: Needed): void {
    const part = needed.startsWith("key ") ? needed.slice("key ".length) : "";
    if (LOOKED_FOR.includes(sourceOf(part))) this.#parts.add(part);
  }

  /** Costs nothing once every part has been seen. */
  look(entries: readonly LogEntry[]): void {
    for (const part of this.#parts) {
      const read = KEY_READERS[sourceOf(part)];
      const name = part.slice(sourceOf(part).length + 1);
      if (entries.some(({ head }) => read(head, name, () => ""))) this.#parts.delete(part);
    }
  }

  notes(): string[] {
    return [...this.#parts].map((part) => `No line of the log has a value for the key ${part}.`);
  }
}
