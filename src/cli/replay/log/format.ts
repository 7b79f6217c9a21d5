/** What every log format implements. formats.ts lists the formats. */

import type { Carried, LogEntry } from "./entry.ts";

export type FormatName = "headgate" | "logpush" | "combined" | "cloudfront";

export interface Format {
  readonly name: FormatName;
  /** @param line one of the first lines of a file. */
  recognizes(line: string): boolean;
  /** A reader for the lines of one file, in their order. */
  reader(): LineReader;
}

/** Reads the lines of one file. What it lacks is known after the first line that is a request. */
export interface LineReader extends Carried {
  /**
   * Undefined: a line that is not a request (comment, directive, empty). A text: why the line cannot be read. A list:
   * the line holds several requests.
   */
  read(line: string): LogEntry | readonly LogEntry[] | undefined | string;
  /** What the reader of the report must know, after the last line. The same text from several files is said once. */
  notes?(): readonly string[];
  /** How many requests each line stands for. 1 or absent: all requests are in the log. */
  readonly sampledOneIn?: number;
}

/** A note for formats that write whole seconds. */
export const WHOLE_SECONDS =
  "The log shows whole seconds: all requests of a second are replayed at one instant, so limits over a few seconds " +
  "may refuse more than in truth.";
