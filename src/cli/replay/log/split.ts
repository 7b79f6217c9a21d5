/** Bytes to lines. */

/** Longer lines are skipped: no server writes them, and one line must not fill the memory. */
const LONGEST_LINE_BYTES = 1024 * 1024;

const [NUL, LINE_FEED, RETURN] = [0, 10, 13];

export class LineSplitter {
  /** The beginning of a line whose end has not come yet. */
  #rest: Uint8Array[] = [];
  #restBytes = 0;
  #isSkipping = false;

  /**
   * The lines that end in the chunk, without their ends; null for a line that is too long. Bytes that are no UTF-8
   * become U+FFFD. Each line is a text of its own: a part of a common text would keep that whole text in memory.
   * The NUL bytes that a crash or `copytruncate` leaves before a line are no part of it.
   *
   * @param chunk its bytes may change afterwards.
   */
  split(chunk: Buffer): (string | null)[] {
    const lines: (string | null)[] = [];
    let start = 0;
    for (;;) {
      if (this.#restBytes === 0 && !this.#isSkipping) while (chunk[start] === NUL) start++;
      const end = chunk.indexOf(LINE_FEED, start);
      if (end < 0) break;
      lines.push(this.#line(chunk, start, end));
      start = end + 1;
    }
    this.#keep(chunk.subarray(start));
    return lines;
  }

  /** The last line, if no line end follows it. */
  end(): (string | null)[] {
    return this.#isSkipping || this.#restBytes > 0 ? [this.#line(Buffer.alloc(0), 0, 0)] : [];
  }

  #line(chunk: Buffer, start: number, end: number): string | null {
    if (!this.#isSkipping && this.#restBytes === 0) return text(chunk, start, end);
    const whole = this.#isSkipping ? undefined : Buffer.concat([...this.#rest, chunk.subarray(start, end)]);
    this.#rest = [];
    this.#restBytes = 0;
    this.#isSkipping = false;
    return whole ? text(whole, 0, whole.length) : null;
  }

  #keep(rest: Buffer): void {
    if (rest.length === 0 || this.#isSkipping) return;
    this.#restBytes += rest.length;
    this.#isSkipping = this.#restBytes > LONGEST_LINE_BYTES;
    if (this.#isSkipping) this.#rest = [];
    else this.#rest.push(Buffer.from(rest));
  }
}

function text(bytes: Buffer, start: number, end: number): string | null {
  if (end - start > LONGEST_LINE_BYTES) return null;
  return bytes.toString("utf8", start, bytes[end - 1] === RETURN && end > start ? end - 1 : end);
}
