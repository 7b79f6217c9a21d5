/** A log, from its files to entries in the order of time. */

import type { Carried, LogEntry } from "./entry.ts";
import type { FormatName } from "./format.ts";
import { openInputs } from "./input.ts";
import { entriesOf, type LogFile, openLogFile } from "./log-file.ts";
import { merged } from "./merge.ts";
import { roughlyOrdered, TimeOrder } from "./order.ts";
import { LogError, type LogTold, Telling } from "./told.ts";
import { Unseen } from "./unseen.ts";

export { LogError, type LogTold };

export interface OpenLog {
  /** For all files together: the log lacks what any of its files lacks. */
  readonly carried: Carried;
  /**
   * Entries in the order of time. It can be called once.
   *
   * @throws {LogError} if the log cannot be read on.
   */
  batches(signal?: AbortSignal): AsyncIterable<readonly LogEntry[]>;
  readonly told: LogTold;
  /** A gateway has written the lines: policies, keys and costs are in them. */
  readonly isRecorded: boolean;
}

interface OpenLogOptions {
  /** Absent: each file's first lines tell. */
  readonly format?: FormatName;
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
  const told = new Telling(inputs.length, totalBytes);
  const files: LogFile[] = [];
  for (const input of inputs) {
    const file = await openLogFile(input, options.format, told);
    if (file) files.push(file);
  }
  const recorded = files.filter(({ format }) => format.name === "headgate").length;
  if (recorded > 0 && recorded < files.length) {
    throw new LogError("A gateway has recorded some of the files, not all of them: replay them one after the other.");
  }
  const unseen = new Unseen();
  return {
    told,
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
    batches: (signal) => inOrder(files, { told, unseen, signal }),
  };
}

async function* inOrder(
  files: readonly LogFile[],
  { told, unseen, signal }: { told: Telling; unseen: Unseen; signal: AbortSignal | undefined },
): AsyncGenerator<readonly LogEntry[]> {
  const order = new TimeOrder();
  const sources = files.map((file) => ({
    firstMs: file.firstMs,
    batches: () => (files.length > 1 ? roughlyOrdered(entriesOf(file, told)) : entriesOf(file, told)),
  }));
  for await (const entries of merged(sources)) {
    signal?.throwIfAborted();
    unseen.look(entries);
    for (const batch of order.add(entries)) yield batch;
    told.late = order.late;
  }
  for (const batch of order.end()) yield batch;
  told.late = order.late;
  if (told.late > told.requests * DOUBTFUL_SHARE) told.addNote(DOUBTFUL);
  for (const note of unseen.notes()) told.addNote(note);
  if (told.sampledOneIn > 1) told.addNote(sampledNote(told.sampledOneIn));
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
