/** One JSON line for each answer whose usage is not known, and why. */

import { createLines } from "../../kernel/lines.ts";
import type { Account } from "./account.ts";
import type { AnswerScanner } from "./llm/scanner.ts";

/** The most characters of a header field in a line: an origin has written it. */
const LONGEST_VALUE = 100;

const write = createLines();

/** About an answer that cannot be read. */
export function logUnread(account: Account, headers: Headers): void {
  logDoubt(account, "it is compressed, or neither JSON nor an event stream", headers);
}

/** About an answer that was read. */
export function logDoubts(account: Account, scanner: AnswerScanner): void {
  if (scanner.hasZeros()) logDoubt(account, "it states zero tokens, which are not believed");
  else if (!scanner.usage() && !scanner.isOutputKnown() && !account.estimate().isBackground) {
    logDoubt(account, "it has no usage and no text");
  }
}

function logDoubt(account: Account, reason: string, headers?: Headers): void {
  const shown = (name: string) => headers?.get(name)?.slice(0, LONGEST_VALUE);
  write(() => ({
    event: "answer-not-metered",
    at: new Date().toISOString(),
    policies: account.names,
    format: account.estimate().format ?? "unknown",
    reason,
    contentType: shown("Content-Type"),
    contentEncoding: shown("Content-Encoding"),
  }));
}
