/** What an answer says that its request has cost. */

import { MAX_UNITS } from "../../kernel/core/layout.ts";

/** Why an answer's word does not count as it is. */
export type Doubt = "no answer" | "no header" | "several values" | "no integer from 0 to 10^9";

export interface Stated {
  /** What the request has cost. */
  readonly units: number;
  /** Absent: the answer says it, or an error of the origin costs nothing. */
  readonly doubt?: Doubt;
}

/** A number as an origin may write it by mistake. */
const READABLE = /^\d+(?:\.\d+)?$/;
const INTEGER = /^\d+$/;

/**
 * In doubt the larger of what was reserved and what can be read: an answer that is cut or forged must not be free.
 *
 * @param status of the answer. undefined: nobody has learned it. @param field the header; of several their values,
 * joined by commas. Null: the answer has none.
 */
export function statedBy(status: number | undefined, field: string | null, reserve: number): Stated {
  if (status === undefined) return { units: reserve, doubt: "no answer" };
  const isError = status >= 500 && status <= 599;
  if (field === null) return isError ? { units: 0 } : { units: reserve, doubt: "no header" };
  const values = field.split(",").map((value) => value.trim());
  const [first = ""] = values;
  if (values.length === 1 && INTEGER.test(first) && Number(first) <= MAX_UNITS) return { units: Number(first) };
  const readable = values.filter((value) => READABLE.test(value)).map((value) => Math.ceil(Number(value)));
  const units = Math.min(MAX_UNITS, Math.max(reserve, ...readable));
  return { units, doubt: values.length > 1 ? "several values" : "no integer from 0 to 10^9" };
}
