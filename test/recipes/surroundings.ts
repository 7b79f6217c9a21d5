// What a recipe needs around it: the server behind its gateway, secrets, and variables of the reader's shell.

import type { RequestListener } from "node:http";

export interface Surroundings {
  /** The server that gets everything that the gateway or the Worker sends, whatever its host. Default: it says Hello. */
  readonly answer?: RequestListener;
  /** Secrets of the gateway or the Worker. */
  readonly vars?: Readonly<Record<string, unknown>>;
  /** A file of the examples that the page shows. `npm run test:examples` runs it: it needs more than this package has. */
  readonly file?: string;
  /** Variables of the reader's shell, and of programs. A program also gets `ORIGIN`, the URL of the server. */
  readonly env?: Readonly<Record<string, string>>;
}

/** By the name of the page. */
export const SURROUNDINGS: Readonly<Record<string, Surroundings>> = {
  "llm-tokens": {
    answer(_, response) {
      const usage = { prompt_tokens: 300, completion_tokens: 1_000, total_tokens: 1_300 };
      response.setHeader("Content-Type", "application/json").end(JSON.stringify({ choices: [], usage }));
    },
  },
  next: { file: "examples/next/proxy.ts" },
  "call-a-limited-api": { answer: (_, response) => response.end("Sunny.\n") },
};
