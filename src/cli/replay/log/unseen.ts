/** Key parts for which a log has a field that is empty in all of its lines: a header that nobody chose to log. */

import { KEY_READERS, sourceOf } from "../../../keys/sources.ts";
import type { LogEntry, Needed } from "./entry.ts";

/** Sources whose values are fields that logs can have and yet leave empty. */
const LOOKED_FOR: readonly string[] = ["bearer", "header", "cookie", "country", "asn"];

export class Unseen {
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
