/**
 * How an object answers a request that it does not take: as data. An exception would break the caller's stub, and the
 * caller could not tell it from a failure of the object.
 */

import { createThrown } from "../lines.ts";

/** Nothing was changed. */
export interface Rejected {
  /** What was expected, and where. No key of the request is in it. */
  readonly rejected: string;
}

/** A request that the object does not take. Its message says what was expected, and where, and nothing of a key. */
export class WrongRequest extends TypeError {}

/** What the runtime says of a value that is larger than a row may be. It says so before it writes. */
const TOO_BIG = /SQLITE_TOOBIG/;
/** Only a mistake in the code throws these. The storage throws others. */
const MISTAKES = [TypeError, RangeError, ReferenceError, SyntaxError];

const writeThrown = createThrown("the object failed on one request");

/**
 * What the work returns. Its error concerns one request if the request is wrong, if the code fails on it, or if a value
 * becomes too large: other requests can be answered. All other errors are failures of the object.
 *
 * @param work writes at its end, all or nothing.
 */
export function orRejected<T>(work: () => T): T | Rejected {
  try {
    return work();
  } catch (error) {
    if (error instanceof WrongRequest) return { rejected: error.message };
    if (!MISTAKES.some((mistake) => error instanceof mistake) && !TOO_BIG.test(String(error))) throw error;
    // The text of such an error may have a part of a key: it stays in the log of the object.
    writeThrown(error);
    return { rejected: `the object failed on this request (${(error as Error).name}); its log has the error` };
  }
}

export function isRejected(answer: unknown): answer is Rejected {
  return typeof (answer as Partial<Rejected> | null | undefined)?.rejected === "string";
}
