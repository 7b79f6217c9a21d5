/**
 * The terms of `count`: `all`, `failures`, `successes`, a status (`401`), a class of them (`5xx`), and `not 304`, which
 * leaves a status out.
 */

export const NOT = "not ";

/** Whether the term leaves statuses out. */
export function isException(term: string): boolean {
  return term.startsWith(NOT);
}

/** Whether a request with this answer stays counted. */
export function counts(terms: readonly string[], status: number): boolean {
  if (terms.some((term) => isException(term) && isOf(term.slice(NOT.length), status))) return false;
  return terms.some((term) => isOf(term, status));
}

function isOf(term: string, status: number): boolean {
  switch (term) {
    case "all":
      return true;
    case "failures":
      return status >= 400;
    case "successes":
      return status < 400;
    default:
      return term === String(status) || term === `${Math.floor(status / 100)}xx`;
  }
}
