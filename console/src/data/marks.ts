/** What happened while this page was open, to be drawn into charts: newer versions of the live document. */

import { now } from "../api.ts";
import { createValue } from "./value.ts";

export interface Mark {
  readonly atMs: number;
  readonly text: string;
}

export const marks = createValue<readonly Mark[]>([]);

const MAX_MARKS = 50;

export function mark(text: string): void {
  marks.set([...marks.get(), { atMs: now(), text }].slice(-MAX_MARKS));
}
