/** What the status of an answer tells. */

/** Answers that stand in for a status that nobody has learned. */
const unlearned = new WeakSet<Response>();

/** Marks an answer of our own in place of an origin that has told no status: it may have done its work. */
export function withoutStatus(answer: Response): Response {
  unlearned.add(answer);
  return answer;
}

/** Whether nobody has learned the status that the answer stands for. */
export function isUnlearned(answer: Response): boolean {
  return unlearned.has(answer);
}

/** Whether HTTP has the status of an answer. With any other one, which `fetch` may give, no `Response` can be made. */
export function isStatus({ status }: Response): boolean {
  return status <= 599;
}
