/** A body longer than 1 MiB on its way to the provider: what passes beyond what was reserved is charged. */

import { MAX_BYTES, patientReader, SlowBody } from "../../kernel/request/request-body.ts";
import { ARE_COPIED, pipeOf } from "../slots/keep-slots.ts";
import { tokensOfBytes } from "./llm/tokens.ts";
import type { Usage } from "./llm/usage.ts";

/** How much of it is read at once. */
const CHUNK_BYTES = 64 * 1024;

type Bytes = Uint8Array<ArrayBuffer>;

export class Upload {
  /** The body to send on. */
  readonly body: ReadableStream<Bytes>;
  /** Why it was given up. Absent: the client sends it fast enough. */
  slow: SlowBody | undefined;
  readonly #charge: (tokens: number) => Promise<void>;
  readonly #ending = new AbortController();
  #bytes = 0;
  /** What is reserved is the first 1 MiB. */
  #charged = MAX_BYTES;

  /** @param charge gets the tokens of each further 1 MiB when it has arrived, and of the rest. */
  constructor({ body, headers }: Request, charge: (tokens: number) => Promise<void>) {
    const { readable, writable } = pipeOf(headers.get("Content-Length"));
    this.body = readable;
    this.#charge = charge;
    this.#pass(body!, writable.getWriter());
  }

  /** Aborted when the body does not go on. */
  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  /** What a provider has got of a body that was given up. */
  usage(): Usage {
    return { inputTokens: tokensOfBytes(this.#bytes), cachedInputTokens: 0, outputTokens: 0 };
  }

  async #pass(body: ReadableStream<Uint8Array>, writer: WritableStreamDefaultWriter<Uint8Array>): Promise<void> {
    const reader = patientReader(body, ARE_COPIED ? new ArrayBuffer(CHUNK_BYTES) : undefined);
    try {
      for (let read = await reader.read(); !read.done; read = await reader.read()) {
        this.#bytes += read.value.length;
        await this.#chargeBeyond(MAX_BYTES);
        await writer.write(read.value);
      }
      await this.#chargeBeyond(1);
      await writer.close();
    } catch (error) {
      if (error instanceof SlowBody) this.slow = error;
      reader.cancel(error);
      writer.abort(error).catch(() => {});
      this.#ending.abort(error);
    }
  }

  async #chargeBeyond(atLeast: number): Promise<void> {
    const beyond = this.#bytes - this.#charged;
    if (beyond < atLeast) return;
    this.#charged = this.#bytes;
    await this.#charge(tokensOfBytes(beyond));
  }
}
