/** The clients of a log, by number: all policies and configurations of a replay share it. */

import { createHash } from "node:crypto";
import { type ClientKey, partitionText } from "../../../partition/hash.ts";

/** Clients that the report counts, about 150 bytes each. Decisions are exact for any number of clients. */
const MAX_COUNTED = 2_000_000;

export class Clients {
  readonly #numbers = new Map<string, number>();
  /** Some clients came after so many others that the report does not count them. */
  hasMore = false;

  /** @returns the number of a counted client, and what stands for its key in the store. */
  of(key: ClientKey): readonly [number: number | undefined, partition: string] {
    const text = partitionText(key);
    let number = this.#numbers.get(text);
    if (number === undefined && this.#numbers.size < MAX_COUNTED) {
      number = this.#numbers.size;
      this.#numbers.set(text, number);
    }
    this.hasMore ||= number === undefined;
    return [number, number === undefined ? shortened(text) : String(number)];
  }
}

/** Keys may be long, and the store keeps many. */
export function shortened(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}
