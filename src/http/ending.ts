/** How a request has ended, for policies with `count`. */

import type { Ending } from "../core/policy.ts";

/** Answers that stand in for a status that nobody has learned. */
const unlearned = new WeakSet<Response>();

/** Marks an answer of our own in place of an origin that has told no status: it may have done its work. */
export function withoutStatus(answer: Response): Response {
  unlearned.add(answer);
  return answer;
}

/** Whether HTTP has the status of an answer. With any other one, which `fetch` may give, no `Response` can be made. */
export function isStatus({ status }: Response): boolean {
  return status <= 599;
}

/** undefined: nobody has learned the status. */
export function endingOf(answer: Response): Ending | undefined {
  return unlearned.has(answer) ? undefined : endingBy(answer.status);
}

export function endingBy(status: number): Ending {
  return status >= 400 ? "failures" : "successes";
}
